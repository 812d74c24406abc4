package state

import (
	"strings"

	"sessionfold/wire"
)

// patcher applies operations to a document one after the other.
type patcher struct {
	root    item
	dirty   bool
	changed int // bytes at the beginning that are as they were
}

// action is what is done at the end of a pointer.
type action uint8

const (
	actAdd action = iota
	actRemove
	actReplace
	actOpen // nothing, but the way there is kept open
)

func (p *patcher) apply(op *wire.PatchOp) wire.StateFault {
	path, why := tokens(op.Path)
	if why != wire.FaultNone {
		return why
	}
	switch op.Kind {
	case wire.PatchAdd:
		return p.put(path, actAdd, parsed(op.Value))
	case wire.PatchReplace:
		return p.put(path, actReplace, parsed(op.Value))
	case wire.PatchRemove:
		return p.put(path, actRemove, item{})
	case wire.PatchTest:
		it, why := p.get(path)
		if why == wire.FaultNone && !it.equals(op.Value) {
			why = wire.FaultTest
		}
		return why
	case wire.PatchMove, wire.PatchCopy:
		return p.carry(op, path)
	}
	return wire.FaultOperation
}

func parsed(text string) item {
	_, depth := skipValue(text, 0)
	return item{text: text, depth: int16(depth)}
}

// carry moves or copies.
func (p *patcher) carry(op *wire.PatchOp, path []string) wire.StateFault {
	from, why := tokens(op.From)
	if why != wire.FaultNone {
		return why
	}
	it, why := p.get(from)
	if why != wire.FaultNone {
		return why
	}
	it.name = ""
	if op.Kind == wire.PatchMove {
		if strings.HasPrefix(op.Path, op.From+"/") {
			return wire.FaultInside
		}
		if why := p.put(from, actRemove, item{}); why != wire.FaultNone {
			return why
		}
	}
	return p.put(path, actAdd, it)
}

// put does something at a pointer and holds the limits.
func (p *patcher) put(path []string, act action, it item) wire.StateFault {
	if len(path)+int(it.depth) > wire.MaxStateDepth {
		return wire.FaultDepth
	}
	root, why := p.at(p.root, path, 0, act, it)
	if why != wire.FaultNone {
		return why
	}
	if act != actOpen {
		p.dirty = true
		if root.size() > wire.MaxStateBytes {
			return wire.FaultDocumentSize
		}
	}
	p.root = root
	return wire.FaultNone
}

// at gives the value, which begins at the offset, with the action done at the
// path below it.
func (p *patcher) at(v item, path []string, offset int, act action, it item) (item, wire.StateFault) {
	if len(path) == 0 {
		switch act {
		case actOpen:
			return v, wire.FaultNone
		case actRemove:
			return v, wire.FaultRoot
		}
		p.touch(offset)
		it.name = v.name
		return it, wire.FaultNone
	}
	if !v.container() {
		return v, wire.FaultPath
	}
	b := v.open()
	offset++ // behind the bracket
	if len(path) == 1 && act != actOpen {
		b, why := p.member(b, path[0], offset, act, it)
		return boxed(v.name, b), why
	}
	i, why := b.index(path[0])
	if why != wire.FaultNone {
		return v, why
	}
	kid, before := b.at(i)
	offset += before
	if kid.name != "" {
		offset += len(kid.name) + 1
	}
	if kid, why = p.at(kid, path[1:], offset, act, it); why != wire.FaultNone {
		return v, why
	}
	return boxed(v.name, b.with(i, change{it: kid})), wire.FaultNone
}

func boxed(name string, b *box) item {
	it := item{name: name, box: b, depth: 1}
	if b.root != nil {
		it.depth += b.root.depth
	}
	return it
}

// member changes one member of a box, whose members begin at the offset.
func (p *patcher) member(b *box, token string, offset int, act action, it item) (*box, wire.StateFault) {
	var i int
	var why wire.StateFault
	insert := false
	switch {
	case act != actAdd:
		i, why = b.index(token)
	case b.object:
		i, insert = b.find(token)
		insert = !insert
	case token == "-":
		i, insert = b.count(), true
	default:
		insert = true
		i, why = arrayIndex(token, b.count()+1)
	}
	if why != wire.FaultNone {
		return b, why
	}
	before := 0
	if i < b.count() {
		_, before = b.at(i)
	} else if b.root != nil {
		before = b.root.size
	}
	p.touch(offset + max(0, before-1)) // the comma before it changes too
	if b.object {
		it.name = string(wire.AppendJSONText(nil, token))
	}
	return b.with(i, change{insert: insert, remove: act == actRemove, it: it}), wire.FaultNone
}

func (p *patcher) touch(offset int) { p.changed = min(p.changed, offset) }

// openText is the length of a text that is worth keeping open once it was read.
const openText = 512

// get gives the value at a pointer. It leaves the way there open, so that the
// operations of a patch do not read a large text again and again.
func (p *patcher) get(path []string) (item, wire.StateFault) {
	v, closed, why := look(p.root, path)
	if closed && why == wire.FaultNone {
		_ = p.put(path, actOpen, item{}) // the look has found everything there
		v, _, why = look(p.root, path)
	}
	return v, why
}

// look says beside the value whether the way led through a large text.
func look(v item, path []string) (it item, closed bool, why wire.StateFault) {
	for _, token := range path {
		if !v.container() {
			return v, closed, wire.FaultPath
		}
		closed = closed || len(v.text) > openText
		b := v.open()
		i, why := b.index(token)
		if why != wire.FaultNone {
			return v, closed, why
		}
		v, _ = b.at(i)
	}
	return v, closed, wire.FaultNone
}

// equals: canonical texts are equal when the values are.
func (it *item) equals(text string) bool {
	if it.size() != len(text) {
		return false
	}
	same := true
	w := walker{put: func(s string) {
		same = same && s == text[:len(s)]
		text = text[len(s):]
	}}
	v := item{text: it.text, box: it.box}
	w.item(&v)
	return same
}
