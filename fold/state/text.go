package state

import (
	"strings"

	"sessionfold/wire"
)

// The functions here walk canonical JSON text that this program wrote, so they
// check nothing.

// skipText gives the index behind the text that begins at i.
func skipText(s string, i int) int {
	for i++; ; i++ {
		n := strings.IndexByte(s[i:], '"')
		if n < 0 {
			panic("state: a text without an end") // see Restore
		}
		i += n
		back := 0
		for s[i-1-back] == '\\' {
			back++
		}
		if back%2 == 0 {
			return i + 1
		}
	}
}

// skipValue gives the index behind the value that begins at i, and how many
// arrays and objects lie in each other there.
func skipValue(s string, i int) (end, depth int) {
	level := 0
	for {
		switch s[i] {
		case '"':
			i = skipText(s, i)
		case '[', '{':
			level++
			depth = max(depth, level)
			i++
			if c := s[i]; c != ']' && c != '}' {
				continue
			}
		case ']', '}':
			level--
			i++
		case ',', ':':
			i++
			continue
		default:
			for i++; i < len(s) && s[i] != ',' && s[i] != ']' && s[i] != '}'; i++ {
			}
		}
		if level == 0 {
			return i, depth
		}
	}
}

// nextItem reads the member that begins at i: of an object its name first.
func nextItem(s string, i int, object bool) (it item, end int) {
	if object {
		end := skipText(s, i)
		it.name, i = s[i:end], end+1
	}
	end, depth := skipValue(s, i)
	it.text, it.depth = s[i:end], int16(depth)
	return it, end
}

// key is the text of a name.
func (it *item) key() string { return wire.JSONText(it.name) }
