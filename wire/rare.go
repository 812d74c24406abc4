package wire

// ControlOp is what a control request asks for.
type ControlOp uint8

// The control requests (spec agdx.md, section 5). A forced cancel that ends the
// session is a Lifecycle; the command force_cancel asks for it like
// session_cancel.
const (
	ControlPause ControlOp = 1 + iota
	ControlResume
	ControlCancel
)

// Control is a request on the control topic.
type Control struct {
	Op           ControlOp
	Participants [][]byte // of a pause: agent ids, as written
}

// Parking says that a lane record put work aside, or took it up again.
type Parking struct {
	SessionParking
	Unparked bool
}

// LinkSurface is where a linked resource lives. Numbers are part of the stored
// format: only append.
type LinkSurface uint8

// The surfaces (spec session-index.md, section 8), in the order of their words.
const (
	SurfaceChild LinkSurface = 1 + iota
	SurfaceGraphEdge
	SurfaceGraphNode
	SurfaceKV
	SurfaceMemory
	SurfaceProjection
	surfaceEnd
)

var surfaceNames = [surfaceEnd]string{"", "child", "graph_edge", "graph_node", "kv", "memory", "projection"}

func (s LinkSurface) String() string {
	if s < surfaceEnd {
		return surfaceNames[s]
	}
	return ""
}

// ParseSurface is the inverse of LinkSurface.String.
func ParseSurface[T string | []byte](s T) (LinkSurface, bool) {
	for i, n := range surfaceNames {
		if i > 0 && n == string(s) {
			return LinkSurface(i), true
		}
	}
	return 0, false
}

// LinkRelation is what a session did with a linked resource. Numbers are part
// of the stored format: only append.
type LinkRelation uint8

// The relations, in the order of their words.
const (
	RelationRecalled LinkRelation = 1 + iota
	RelationTouched
	RelationWrote
	relationEnd
)

var relationNames = [relationEnd]string{"", "recalled", "touched", "wrote"}

func (r LinkRelation) String() string {
	if r < relationEnd {
		return relationNames[r]
	}
	return ""
}

// ParseRelation is the inverse of LinkRelation.String.
func ParseRelation[T string | []byte](s T) (LinkRelation, bool) {
	for i, n := range relationNames {
		if i > 0 && n == string(s) {
			return LinkRelation(i), true
		}
	}
	return 0, false
}

// Link says that a session has to do with a resource. Session may be another
// one of the record's stream; a record that names a session of another stream
// has Rare.LinkRefused instead.
type Link struct {
	Session        ID
	Surface        LinkSurface
	Relation       LinkRelation
	Resource, Item []byte
}
