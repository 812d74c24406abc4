package wire

// Native is what a record of a dialect other than AGDX says, in terms that the
// dialects share (spec deepstrike.md, everruns.md). The decoder says what is
// written; what counts, after what came before, is for the fold to decide.
type Native struct {
	ID []byte // the session's id as the record spells it

	Seq    uint64 // the dialect's own sequence number
	HasSeq bool

	// Mark tells records apart: the same mark again is a redelivery. Where Paired
	// is set its upper half is the sequence number and its lower half stands for
	// the bytes, so that one number with two halves is a conflict.
	Mark    uint64
	HasMark bool
	Paired  bool

	Inert bool // counts as a record and keeps a row, nothing else

	Run   RunMark
	Total uint64 // with RunEnds: tokens of the run as its end says

	ToolCalls, Issues, Errors, Turns uint32

	Level      UsageLevel // what Record.Usage is
	Attempt    uint64     // with LevelAttempt: what an attempt and its repeat share
	HasAttempt bool
	Estimated  bool // the usage is not what the provider counted

	Says  []Say
	Child *NativeChild
	Audit *AuditEvent
}

// RunMark says that a record begins or ends a run.
type RunMark uint8

// The marks.
const (
	RunNone RunMark = iota
	RunStarts
	RunEnds
)

// UsageLevel says which of several levels a usage is of: one level of a session
// counts (spec deepstrike.md, section 3; everruns.md, section 2).
type UsageLevel uint8

// The levels. LevelGeneration counts always; a record of it may have no usage.
const (
	LevelNone       UsageLevel = iota
	LevelCall                  // of a model call, unless the run has attempts
	LevelAttempt               // of one attempt of a model call
	LevelGeneration            // of a generation
	LevelCumulative            // of the session so far, unless it has generations
)

// Say is one statement about the session, replaced by a later one of its key.
type Say struct {
	Key  SayKey
	Num  uint8
	Soft bool   // a course that does not reopen; a wait that ends only its own reason
	Aux  uint64 // SayWait: when it ends by itself, µs, 0 not known; SayFork: sequence
	Text []byte
	List [][]byte // SayTags
}

// SayKey names what a Say is about. Numbers are stored: only append.
type SayKey uint8

// The keys.
const (
	SayCourse  SayKey = 1 + iota // Num is a Status
	SayState                     // Num is a NativeState; Text the word as written
	SayTurn                      // Num is a TurnEnd; Text why
	SayBudget                    // Num 1: used up, 0: no more
	SayWait                      // Num 1: waits for Text; 0: for nothing
	SayLabel                     // Text
	SayModel                     // Text
	SayAgent                     // Text
	SayTags                      // List
	SaySource                    // Num is a SessionSource, said by the session's owner
	SayHint                      // Num is a SessionSource that an event hints at
	SayClaim                     // Num is a SessionSource that a client declared
	SayFork                      // Text the origin's id, Aux the last copied sequence
	SayGoal                      // Text, content
	SayPreview                   // Text, content
	SayOutput                    // Text, content
	SayOutcome                   // Num is the Status of a run's end; Text why
	sayEnd
)

var sayNames = [sayEnd]string{
	"", "course", "state", "turn", "budget", "wait", "label", "model", "agent", "tags", "source", "hint", "claim", "fork",
	"goal", "preview", "output", "outcome",
}

func (k SayKey) String() string {
	if k < sayEnd {
		return sayNames[k]
	}
	return ""
}

// Content says that the text is content, kept only where previews are on.
func (k SayKey) Content() bool { return k == SayGoal || k == SayPreview || k == SayOutput }

// FirstStays says that the first statement of the key holds, not the last.
func (k SayKey) FirstStays() bool {
	return k == SayHint || k == SayClaim || k == SayFork || k == SayPreview
}

// NativeState is the execution status of an Everruns session.
type NativeState uint8

// The states. The zero value is "just created".
const (
	StateStarted NativeState = iota
	StateActive
	StateIdle
	StateWaiting
	StatePaused
)

var stateWords = [...]string{"started", "active", "idle", "waiting_for_tool_results", "paused"}

func (s NativeState) String() string {
	if int(s) < len(stateWords) {
		return stateWords[s]
	}
	return stateWords[0]
}

// ParseNativeState reads a status word with its older spellings; an unknown
// word counts as started (spec everruns.md, section 2).
func ParseNativeState[T string | []byte](word T) NativeState {
	switch string(word) {
	case "active", "running":
		return StateActive
	case "idle", "pending", "completed", "failed":
		return StateIdle
	case "waiting_for_tool_results", "waitingfortoolresults", "resolving_tool_results":
		return StateWaiting
	case "paused":
		return StatePaused
	}
	return StateStarted
}

// TurnEnd is how the last turn of an Everruns session ended.
type TurnEnd uint8

// The ends. A sealed turn was stopped by the engine and counts as failed.
const (
	TurnNone TurnEnd = iota
	TurnCompleted
	TurnFailed
	TurnCancelled
	TurnSealed
)

// Status is what the end makes of a session that does nothing else.
func (t TurnEnd) Status() Status {
	switch t {
	case TurnCompleted:
		return StatusCompleted
	case TurnFailed, TurnSealed:
		return StatusFailed
	case TurnCancelled:
		return StatusCanceled
	}
	return StatusSubmitted
}

// Outcome is the word for people.
func (t TurnEnd) Outcome() string {
	switch t {
	case TurnNone:
		return ""
	case TurnSealed:
		return "sealed"
	}
	return t.Status().String()
}

// NativeChild is what a record says of a session or process that its session
// started.
type NativeChild struct {
	Item       []byte // its id as the record spells it
	State      []byte // the word of its state; nil when the record says none
	Attempt    uint64
	HasAttempt bool
	Final      bool // the state is an end
	Sticky     bool // an end stays, and a lower attempt says nothing
}
