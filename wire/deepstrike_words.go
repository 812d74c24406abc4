package wire

import "bytes"

// deepDisplay gives the display of a kind, but for the end of a run, which its
// outcome decides (spec settled.md, "DeepStrike display").
func deepDisplay(kind []byte) Display {
	switch string(kind) {
	case "run_started":
		return DisplaySessionStarted
	case "run_terminal":
		return DisplaySessionFailed
	case "llm_completed":
		return DisplayModelResponse
	case "provider_attempt":
		return DisplayModelRequest
	case "tool_requested":
		return DisplayToolCall
	case "tool_completed":
		return DisplayToolResult
	case "suspended":
		return DisplaySessionPaused
	case "resumed":
		return DisplaySessionResumed
	case "tool_gated", "tool_denied", "capability_changed":
		return DisplayPolicyDecision
	case "compressed", "page_out", "context_renewed":
		return DisplayContextCompacted
	case "page_in", "memory_queried", "memory_retrieval_result":
		return DisplayContextRetrieved
	case "memory_written":
		return DisplayMemoryCreated
	case "agent_process_changed", "agent_spawned":
		return DisplayAgentHandoff
	case "rollbacked", "checkpoint_taken":
		return DisplayStateUpdated
	case "operation_cancelled":
		return DisplaySessionControl
	}
	switch {
	case has(kind, "permission_"), has(kind, "budget_"):
		return DisplayPolicyDecision
	case bytes.HasSuffix(kind, []byte("_failed")):
		return DisplayError
	case has(kind, "workflow_"):
		return DisplayWorkflowStep
	case has(kind, "milestone_"):
		return DisplayTaskStatus
	}
	return DisplayAgentMessage
}

// has says that a word begins so.
func has(word []byte, prefix string) bool {
	return len(word) >= len(prefix) && string(word[:len(prefix)]) == prefix
}

// deepCategory gives the part of the kernel that an event is of.
func deepCategory(kind []byte) string {
	switch string(kind) {
	case "tool_gated", "capability_changed":
		return "syscall"
	case "compressed", "context_renewed":
		return "mm"
	}
	switch {
	case has(kind, "page_"), has(kind, "memory_"):
		return "mm"
	case has(kind, "agent_"), has(kind, "workflow_"):
		return "proc"
	case has(kind, "signal_"):
		return "ipc"
	}
	return "sched"
}

// deepPrimitive gives the primitive of a category.
func deepPrimitive(category string) string {
	switch category {
	case "syscall", "mm":
		return category
	}
	return "sched"
}

// plainWord says that a text is a word of a protocol, not a sentence.
func plainWord(t []byte) bool {
	for _, c := range t {
		if c != '_' && (c < 'a' || c > 'z') {
			return false
		}
	}
	return len(t) > 0 && len(t) <= 32
}
