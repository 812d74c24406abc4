package wire

import "bytes"

// names holds views of names that came before in a batch: agents, operations
// and tools are few, and come with every record. A view of where the same name
// came first is read again and again and stays in the processor's cache, while
// the record's own bytes have left it when the fold looks at them.
type names [64][]byte

// known gives a view of the same bytes.
func (n *names) known(b []byte) []byte {
	if len(b) == 0 {
		return b
	}
	at := &n[(len(b)<<4^int(b[0])<<2^int(b[len(b)-1]))%len(n)]
	if !bytes.Equal(*at, b) {
		*at = b
	}
	return *at
}
