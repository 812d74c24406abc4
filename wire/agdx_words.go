package wire

// Operations with a meaning (spec agdx.md, sections 2, 5 and 7).
const (
	OpTask         = "task" // status
	OpSession      = "session"
	OpCard         = "card"
	OpProgress     = "progress"
	OpQuarantine   = "quarantine"
	OpUnquarantine = "unquarantine"

	OpReasoning = "reasoning" // opening chunk, beside OpChat
	OpToolArgs  = "tool_args"

	OpChat            = "chat" // model operations
	OpTextCompletion  = "text_completion"
	OpGenerateContent = "generate_content"
	OpExecuteTool     = "execute_tool"
	OpInvokeAgent     = "invoke_agent"

	OpSessionPause  = "session_pause" // control commands
	OpSessionResume = "session_resume"
	OpSessionCancel = "session_cancel"
	OpForceCancel   = "force_cancel"

	OpSessionParked    = "session_parked" // events
	OpSessionUnparked  = "session_unparked"
	OpStateDelta       = "state_delta"
	OpStateSnapshot    = "state_snapshot"
	OpContextAssembled = "context_assembled"
	OpContextCompacted = "context_compacted"
	OpContextRetrieved = "context_retrieved"
	OpPolicyDecision   = "policy_decision"
	OpResourceLink     = "resource_link"
)

// Header names on Kafka (spec agdx.md, section 3).
const (
	HeaderVersion      = "agdx.av"
	HeaderContentType  = "agdx.ct"
	HeaderConversation = "gen_ai.conversation.id"
	HeaderParent       = "agdx.parent_conv"
	HeaderRoot         = "agdx.root_conv"
	HeaderTarget       = "agdx.to"
	HeaderAgent        = "gen_ai.agent.id"
	HeaderMemorySpace  = "agdx.mem.ns"
)
