package fold

import (
	"slices"

	"sessionfold/wire"
)

// maxText is the longest kept text that has no limit of its own, in bytes.
const maxText = 256

// addAgent puts an agent id into the sorted set and gives its clean text. The
// partial's list is shared with earlier steps, so a new member means a new list.
func (p *Partial) addAgent(id []byte) string {
	// A member of the list is clean text, so bytes that equal one need no
	// cleaning: the common case allocates nothing.
	for _, name := range p.Agents { // short enough to look through
		if name == string(id) {
			return name
		}
	}
	name, _ := wire.Clean(id, maxText)
	at, known := slices.BinarySearch(p.Agents, name)
	switch {
	case known, name == "":
	case len(p.Agents) >= MaxAgents:
		p.Flags |= FlagOverflow
	default:
		list := make([]string, 0, len(p.Agents)+1)
		list = append(list, p.Agents[:at]...)
		list = append(list, name)
		p.Agents = append(list, p.Agents[at:]...)
	}
	return name
}
