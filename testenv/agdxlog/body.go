package agdxlog

import (
	"fmt"

	"github.com/fxamacker/cbor/v2"

	"sessionfold/wire"
)

// Start is the body of a session's start.
type Start struct {
	Label       string    `cbor:"label,omitempty"`
	Namespace   string    `cbor:"namespace,omitempty"`
	Agent       string    `cbor:"agent,omitempty"` // the session's own agent when empty
	SDK         *SDK      `cbor:"sdk,omitempty"`   // go 1.0.0 when nil
	Parent      *[16]byte `cbor:"parent,omitempty"`
	Root        *[16]byte `cbor:"root,omitempty"`
	IdleTimeout uint64    `cbor:"idle_timeout_micros,omitempty"`
	Budget      *Budget   `cbor:"budget,omitempty"`
	Tags        []string  `cbor:"tags,omitempty"`
}

// SDK names what the agent was built with.
type SDK struct {
	Language string `cbor:"language"`
	Version  string `cbor:"version"`
}

// Budget holds a session's ceilings; 0 is none.
type Budget struct {
	Tokens     uint64 `cbor:"tokens,omitempty"`
	CostMicros uint64 `cbor:"cost_micros,omitempty"`
}

type transition struct {
	Actor        string `cbor:"actor,omitempty"`
	Acknowledges []byte `cbor:"acknowledges,omitempty"` // locator
}

type end struct {
	Reason string   `cbor:"reason,omitempty"`
	Error  *failure `cbor:"error,omitempty"`
}

type failure struct {
	Code      uint8  `cbor:"code"`
	Message   string `cbor:"message,omitempty"`
	Retryable bool   `cbor:"retryable"`
}

type capsule struct {
	Source   []byte `cbor:"source"`
	Reason   uint8  `cbor:"reason"`
	Attempts uint32 `cbor:"attempts"`
	Detail   string `cbor:"detail,omitempty"`
	Payload  []byte `cbor:"payload"`
}

type heartbeat struct {
	Process  string     `cbor:"process"`
	Stream   string     `cbor:"stream"`
	Sessions [][16]byte `cbor:"sessions"`
}

type memoryItem struct {
	ID   string `cbor:"id"`
	Kind string `cbor:"kind"`
	Body []uint `cbor:"body"` // the reference writes bytes as an array of numbers
}

type memoryForget struct {
	Target       string    `cbor:"target"`
	Conversation *[16]byte `cbor:"conversation,omitempty"`
}

type memoryFeedback struct {
	Target       string    `cbor:"target"`
	Weight       float32   `cbor:"weight"`
	Conversation *[16]byte `cbor:"conversation,omitempty"`
}

type stateDelta struct {
	Base  uint64    `cbor:"base_revision"`
	Patch []patchOp `cbor:"patch"`
	OpID  string    `cbor:"op_id"`
}

type patchOp struct {
	Op    string `cbor:"op"`
	Path  string `cbor:"path"`
	Value string `cbor:"value"`
}

type retrieved struct {
	Query string   `cbor:"query"`
	Items [][2]any `cbor:"items"` // id, score
}

// encoding keeps the order of struct fields. Maps of more than one key are not
// used here: their order would be random.
var encoding = func() cbor.EncMode {
	m, err := cbor.EncOptions{}.EncMode()
	if err != nil {
		panic(err)
	}
	return m
}()

// encode cannot fail for the types above; a failure is a fault of this package.
func encode(v any) []byte {
	b, err := encoding.Marshal(v)
	if err != nil {
		panic(fmt.Sprintf("agdxlog: encode %T: %v", v, err))
	}
	return b
}

func bytesOf(id wire.ID) *[16]byte {
	b := [16]byte(id)
	return &b
}
