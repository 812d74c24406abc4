package agdxlog

import (
	"fmt"

	"sessionfold/wire"
)

// Patch is a state delta whose patch is JSON text.
func (s *Session) Patch(base uint64, opID, patch string) {
	s.Put(wire.RoleLane, s.event(wire.OpStateDelta, fmt.Appendf(nil, `{"base_revision":%d,"op_id":%q,"patch":%s}`, base, opID, patch)), CTJSON)
}

// Snapshot is a state snapshot of a JSON document.
func (s *Session) Snapshot(base uint64, document string) {
	s.Put(wire.RoleLane, s.event(wire.OpStateSnapshot, fmt.Appendf(nil, `{"base_revision":%d,"document":%s}`, base, document)), CTJSON)
}
