package wire

// SessionChanges are change rows behind a sequence number. Resync says that the
// asked number lies below Floor, so sessions must be listed again.
type SessionChanges struct {
	Rows   List[SessionChangeRow] `json:"rows" cbor:"rows"`
	Floor  uint64                 `json:"floor" cbor:"floor"` // the least seq that is still held, less 1
	Resync bool                   `json:"resync" cbor:"resync"`

	// Next is the after to go on with: what lies up to it was looked at, rows of
	// other streams and of none among it.
	Next uint64 `json:"-" cbor:"-"`
}

// SessionChangeRow is one committed row of the changes topic: Seq is its offset
// there + 1, Positions hold the last position of each session, in order.
type SessionChangeRow struct {
	Seq       uint64    `json:"seq" cbor:"seq"`
	Sessions  List[ID]  `json:"sessions" cbor:"sessions"`
	Positions []Locator `json:"positions,omitempty" cbor:"positions,omitempty"`
	Truncated bool      `json:"truncated" cbor:"truncated"`
}
