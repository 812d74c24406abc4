package state

import (
	"sessionfold/wire"
)

// Bounds of the nodes of an opened array or object.
const (
	fan       = 32   // kids of a branch, members of a leaf
	leafBytes = 1024 // of a leaf of text, unless one member alone has more
)

// item is one value, or one member of an object: canonical text, or a box.
type item struct {
	name  string // of a member: its key as canonical text with quotes
	text  string
	box   *box // an opened array or object; text is then empty
	depth int16
}

// box is an opened array or object: a tree of its members in order, so that any
// one is reached, counted and changed in logarithmic time.
type box struct {
	object bool
	root   *node // nil: empty
}

// node is a leaf of text, a leaf of items, or a branch.
type node struct {
	text  string // members as they stand in the document, with commas between
	items []item
	kids  []*node
	count int
	size  int    // bytes of the members, one more for each
	depth int16  // of the deepest member
	first string // name of the first member of an object
}

func (it *item) size() int {
	if it.box == nil {
		return len(it.text)
	}
	return it.box.size()
}

// width is the size of a member, with its name and a comma.
func (it *item) width() int {
	n := it.size() + 1
	if it.name != "" {
		n += len(it.name) + 1
	}
	return n
}

func (b *box) size() int {
	if b.root == nil {
		return 2
	}
	return b.root.size + 1
}

func (b *box) count() int {
	if b.root == nil {
		return 0
	}
	return b.root.count
}

// container says that the value is an array or object.
func (it *item) container() bool {
	return it.box != nil || it.text[0] == '{' || it.text[0] == '['
}

// open gives the box of an array or object. The box of text is a new one each
// time: who wants to keep it puts it in the document.
func (it *item) open() *box {
	if it.box != nil {
		return it.box
	}
	s := it.text
	b := &box{object: s[0] == '{'}
	var leaves []*node
	var n *node
	from := 0
	for i := 1; i < len(s)-1; {
		m, end := nextItem(s, i, b.object)
		// A large member has a leaf of its own: others are read without it.
		if n == nil || n.count == fan || end-from > leafBytes {
			n, from = &node{first: m.name}, i
			leaves = append(leaves, n)
		}
		n.count++
		n.depth = max(n.depth, m.depth)
		n.text = s[from:end]
		n.size = len(n.text) + 1
		i = end + 1 // behind a comma, or the bracket at the end
	}
	b.root = grow(leaves)
	return b
}

// grow builds branches over nodes until one is left.
func grow(nodes []*node) *node {
	for len(nodes) > 1 {
		up := make([]*node, 0, len(nodes)/fan+1)
		for len(nodes) > 0 {
			n := min(fan, len(nodes))
			up = append(up, branch(nodes[:n:n]))
			nodes = nodes[n:]
		}
		nodes = up
	}
	if len(nodes) == 0 {
		return nil
	}
	return nodes[0]
}

func branch(kids []*node) *node {
	n := &node{kids: kids, first: kids[0].first}
	for _, k := range kids {
		n.count += k.count
		n.size += k.size
		n.depth = max(n.depth, k.depth)
	}
	return n
}

func leaf(items []item) *node {
	n := &node{items: items, count: len(items), first: items[0].name}
	for i := range items {
		n.size += items[i].width()
		n.depth = max(n.depth, items[i].depth)
	}
	return n
}

// members gives a leaf's items; those of text are read out.
func (n *node) members(object bool) []item {
	if n.items != nil {
		return n.items
	}
	if n.count == 1 { // it may be large, and all of it is known
		it := item{text: n.text, depth: n.depth}
		if object {
			it.name, it.text = n.first, n.text[len(n.first)+1:]
		}
		return []item{it}
	}
	items := make([]item, 0, n.count)
	for i := 0; i < len(n.text); {
		it, end := nextItem(n.text, i, object)
		items = append(items, it)
		i = end + 1
	}
	return items
}

// at gives the member of an index with its offset behind the bracket.
func (b *box) at(i int) (item, int) {
	n, offset := b.root, 0
	for n.kids != nil {
		for _, k := range n.kids {
			if i < k.count {
				n = k
				break
			}
			i -= k.count
			offset += k.size
		}
	}
	items := n.members(b.object)
	for j := range items[:i] {
		offset += items[j].width()
	}
	return items[i], offset
}

// find gives the index of a key, or the one where it belongs.
func (b *box) find(key string) (i int, found bool) {
	n := b.root
	if n == nil {
		return 0, false
	}
	for n.kids != nil {
		at := 0
		for at+1 < len(n.kids) && wire.CompareKeys(wire.JSONText(n.kids[at+1].first), key) <= 0 {
			i += n.kids[at].count
			at++
		}
		n = n.kids[at]
	}
	for _, it := range n.members(b.object) {
		switch c := wire.CompareKeys(it.key(), key); {
		case c == 0:
			return i, true
		case c > 0:
			return i, false
		}
		i++
	}
	return i, false
}

// change is an insertion before an index, a removal or a replacement.
type change struct {
	insert bool
	remove bool
	it     item
}

// with gives the box with a change at index i.
func (b *box) with(i int, c change) *box {
	out := &box{object: b.object}
	if b.root == nil {
		out.root = leaf([]item{c.it})
		return out
	}
	out.root = grow(b.root.with(i, b.object, c))
	for out.root != nil && len(out.root.kids) == 1 {
		out.root = out.root.kids[0]
	}
	return out
}

// with gives the nodes that take the node's place: none, one or two.
func (n *node) with(i int, object bool, c change) []*node {
	if n.kids == nil {
		return n.leafWith(i, object, c)
	}
	at := 0
	for at+1 < len(n.kids) && (i > n.kids[at].count || i == n.kids[at].count && !c.insert) {
		i -= n.kids[at].count
		at++
	}
	put := n.kids[at].with(i, object, c)
	kids := make([]*node, 0, len(n.kids)+1)
	kids = append(kids, n.kids[:at]...)
	kids = append(kids, put...)
	kids = append(kids, n.kids[at+1:]...)
	switch {
	case len(kids) == 0:
		return nil
	case len(kids) <= fan:
		return []*node{branch(kids)}
	}
	half := cut(len(kids), at+1)
	return []*node{branch(kids[:half:half]), branch(kids[half:])}
}

func (n *node) leafWith(i int, object bool, c change) []*node {
	old := n.members(object)
	items := make([]item, 0, len(old)+1)
	items = append(items, old[:i]...)
	if !c.remove {
		items = append(items, c.it)
	}
	if !c.insert {
		i++
	}
	items = append(items, old[min(i, len(old)):]...)
	switch {
	case len(items) == 0:
		return nil
	case len(items) <= fan:
		return []*node{leaf(items)}
	}
	half := cut(len(items), i)
	return []*node{leaf(items[:half:half]), leaf(items[half:])}
}

// cut says where a full node parts: in the middle, but behind everything when it
// grew at its end, so that nodes of a growing list stay full.
func cut(n, at int) int {
	if at >= n-1 {
		return n - 1
	}
	return n / 2
}
