package wire

// SessionSource is how a session came about: one of the eleven words of seed
// 003. Numbers are stored.
type SessionSource uint8

// The sources.
const (
	SourceUnknown SessionSource = iota
	SourceChat
	SourceAPI
	SourceSlack
	SourceAGUI
	SourceFCP
	SourceSchedule
	SourceWebhook
	SourceA2A
	SourceEval
	SourceSubagent
	sessionSourceEnd
)

var sessionSourceNames = [sessionSourceEnd]string{
	"unknown", "chat", "api", "slack", "ag_ui", "fcp", "schedule", "webhook", "a2a", "eval", "subagent",
}

func (s SessionSource) String() string {
	if s < sessionSourceEnd {
		return sessionSourceNames[s]
	}
	return sessionSourceNames[SourceUnknown]
}

// SessionSourceWords lists the words, unknown first.
func SessionSourceWords() []string { return append([]string(nil), sessionSourceNames[:]...) }

// ParseSessionSource reads a word; false for text that is none.
func ParseSessionSource[T string | []byte](word T) (SessionSource, bool) {
	for i, n := range sessionSourceNames {
		if n == string(word) {
			return SessionSource(i), true
		}
	}
	return SourceUnknown, false
}

// ClientDeclarable says that a client may name this source of a session itself;
// the others are believed only from the session's owner.
func (s SessionSource) ClientDeclarable() bool { return s == SourceChat || s == SourceAPI }

// Activity is what a session does, in the five words that all dialects share.
type Activity uint8

// The activities.
const (
	ActivityIdle Activity = iota
	ActivityRunning
	ActivityPaused
	ActivityFailed
	ActivityCompleted
	activityEnd
)

var activityNames = [activityEnd]string{"idle", "running", "paused", "failed", "completed"}

func (a Activity) String() string {
	if a < activityEnd {
		return activityNames[a]
	}
	return activityNames[ActivityIdle]
}

// ActivityWords lists the words.
func ActivityWords() []string { return append([]string(nil), activityNames[:]...) }

// ParseActivity is the inverse of Activity.String.
func ParseActivity[T string | []byte](word T) (Activity, bool) {
	for i, n := range activityNames {
		if n == string(word) {
			return Activity(i), true
		}
	}
	return ActivityIdle, false
}

// ActivityOf is the truth table of seed 003: what runs now wins, else the end of
// the last turn decides.
func ActivityOf(s NativeState, last TurnEnd) Activity {
	switch s {
	case StateActive, StateWaiting:
		return ActivityRunning
	case StatePaused:
		return ActivityPaused
	}
	switch last {
	case TurnFailed, TurnCancelled, TurnSealed:
		return ActivityFailed
	case TurnCompleted:
		return ActivityCompleted
	}
	return ActivityIdle
}
