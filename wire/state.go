package wire

import "strconv"

// Limits of state records (spec session-index.md, section 7).
const (
	MaxPatchOps    = 256
	MaxStateBytes  = 8 << 20 // canonical JSON of a patch, and of a document
	MaxStateNumber = 1<<53 - 1
	MaxStateDepth  = 256 // arrays and objects in each other, as for JSON text
)

// StateRecord is what a state record of a lane asks for, already turned into
// canonical JSON (RFC 8785), whatever its body was encoded in.
type StateRecord struct {
	Snapshot bool
	Base     uint64    // base_revision
	OpID     []byte    // of a delta, as written; nil for a snapshot
	Patch    []PatchOp // of a delta
	Document string    // of a snapshot: canonical JSON
	Size     int       // canonical bytes of patch or document

	// Malformed says that the fields above cannot be relied on: the record is
	// rejected whatever the revision is.
	Malformed bool
	Fault     StateFault // why it cannot be applied; none: it may be
	FaultAt   int        // operation of the patch that Fault is about, from 0; -1: none
}

// PatchOp is one operation of RFC 6902. Path and From are pointers as written;
// Value is canonical JSON. All are views of one text that belongs to the record.
type PatchOp struct {
	Kind  PatchKind
	Path  string
	From  string // move and copy
	Value string // add, replace and test
}

// PatchKind is the word of an operation. Numbers are stored: only append.
type PatchKind uint8

// The operations.
const (
	PatchAdd PatchKind = 1 + iota
	PatchRemove
	PatchReplace
	PatchMove
	PatchCopy
	PatchTest
)

var patchNames = [...]string{"", "add", "remove", "replace", "move", "copy", "test"}

func (k PatchKind) String() string {
	if int(k) < len(patchNames) {
		return patchNames[k]
	}
	return ""
}

func parsePatchKind(word []byte) PatchKind {
	for i, n := range patchNames {
		if i > 0 && n == string(word) {
			return PatchKind(i)
		}
	}
	return 0
}

// HasValue says that the operation takes a value.
func (k PatchKind) HasValue() bool { return k == PatchAdd || k == PatchReplace || k == PatchTest }

// HasFrom says that the operation takes a second pointer.
func (k PatchKind) HasFrom() bool { return k == PatchMove || k == PatchCopy }

// StateFault says why a state record is rejected. Numbers are stored: only
// append.
type StateFault uint8

// The faults.
const (
	FaultNone         StateFault = iota
	FaultUnreadable              // the body is no CBOR or JSON item
	FaultContentType             // the body is in another encoding
	FaultFields                  // a field is missing or of another type
	FaultValue                   // something that JSON has no value for
	FaultNumber                  // a number out of range
	FaultOperations              // more than 256 operations
	FaultPatchSize               // the patch is larger than 8 MiB
	FaultDocumentSize            // the document would be
	FaultDepth                   // the document would nest too deep
	FaultOperation               // no operation of RFC 6902, or one of its members is missing
	FaultPointer                 // no pointer of RFC 6901
	FaultPath                    // the pointer leads nowhere
	FaultIndex                   // the array has no such index
	FaultTest                    // the value is another
	FaultRoot                    // the root cannot be removed
	FaultInside                  // a value cannot move into itself
	faultEnd
)

var faultNames = [faultEnd]string{
	"", "body cannot be read", "content type is neither CBOR nor JSON", "a field is missing or of another type", "no JSON value",
	"number out of range", "too many operations", "patch too large", "document too large", "document too deep",
	"no operation of RFC 6902", "no JSON pointer", "path leads nowhere", "array index out of range", "test failed",
	"the root cannot be removed", "a value cannot move into itself",
}

func (f StateFault) String() string {
	if f < faultEnd {
		return faultNames[f]
	}
	return "unrecognized"
}

// FaultText is the reason that history and timeline show: fixed words and the
// number of the operation, never a path or a value.
func FaultText(f StateFault, at int) string {
	if f == FaultNone || at < 0 {
		return f.String()
	}
	return "operation " + strconv.Itoa(at) + ": " + f.String()
}
