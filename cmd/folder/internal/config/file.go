package config

import (
	"fmt"
	"strings"

	"github.com/goccy/go-yaml"
	"github.com/goccy/go-yaml/ast"
	"github.com/goccy/go-yaml/parser"
)

// layer is what one source of values said.
type layer struct {
	values map[string]any    // path → value; a list's value is []any of map[string]any
	origin map[string]string // path → where, "streams[0].name" included
	bad    Problems
}

func newLayer() *layer { return &layer{values: map[string]any{}, origin: map[string]string{}} }

func (l *layer) fail(path, where, what, hint string) {
	l.bad = append(l.bad, Problem{path, where, what, hint})
}

// readYAML reads a file. name is how it is called in messages.
func readYAML(name string, text []byte) *layer {
	l := newLayer()
	f, err := parser.ParseBytes(text, 0)
	if err != nil {
		// Without the lines around it: they may hold a password.
		l.fail(name, "", "is no YAML: "+strings.TrimSpace(yaml.FormatError(err, false, false)), "")
		return l
	}
	r := yamlReader{l, name}
	for i, doc := range f.Docs {
		if i > 0 {
			l.fail(name, r.where(doc.Body), "a second document in the file", "keep one")
			break
		}
		r.root(doc.Body)
	}
	return l
}

// yamlReader walks a document along the schema.
type yamlReader struct {
	*layer
	name string
}

func (r yamlReader) where(n ast.Node) string {
	if n == nil || n.GetToken() == nil {
		return r.name
	}
	return fmt.Sprintf("%s:%d", r.name, n.GetToken().Position.Line)
}

func (r yamlReader) root(n ast.Node) {
	var names []string
	for _, s := range Schema {
		names = append(names, s.Name)
	}
	r.eachKey(n, "", names, func(name string, value ast.Node) {
		for _, s := range Schema {
			if s.Name != name {
				continue
			}
			if f := s.Fields[0]; f.Type == "list" {
				r.list(&f, value)
			} else {
				r.fields(value, s.Fields, s.Name+".", func(path string, v any) { r.values[path] = v })
			}
		}
	})
}

// eachKey calls f for every known key of a mapping and reports the others.
// Nothing, or null, is an empty mapping.
func (r yamlReader) eachKey(n ast.Node, prefix string, known []string, f func(key string, value ast.Node)) {
	switch m := n.(type) {
	case nil, *ast.NullNode, *ast.CommentGroupNode:
	case *ast.MappingNode:
		for _, kv := range m.Values {
			key := kv.Key.GetToken().Value
			if !contains(known, key) {
				r.unknown(prefix, key, known, kv.Key)
				continue
			}
			f(key, kv.Value)
		}
	default:
		path := strings.TrimSuffix(prefix, ".")
		if path == "" {
			path = r.name
		}
		r.fail(path, r.where(n), "is no mapping of keys to values", "known keys: "+strings.Join(known, ", "))
	}
}

func (r yamlReader) unknown(prefix, key string, known []string, at ast.Node) {
	hint := "known keys: " + strings.Join(known, ", ")
	if near := nearest(key, known); near != "" {
		hint = fmt.Sprintf("did you mean %s%s?", prefix, near)
	}
	r.fail(prefix+key, r.where(at), "is no known key", hint)
}

// fields reads a mapping of scalars and lists of text. put takes each value
// under its field's path; the origin's path carries the prefix.
func (r yamlReader) fields(n ast.Node, fields []Field, prefix string, put func(path string, v any)) {
	byKey := map[string]*Field{}
	var known []string
	for i := range fields {
		key := fields[i].Path[strings.LastIndexByte(fields[i].Path, '.')+1:]
		byKey[key], known = &fields[i], append(known, key)
	}
	r.eachKey(n, prefix, known, func(key string, value ast.Node) {
		f := byKey[key]
		if v, ok := r.value(f, prefix+key, value); ok {
			put(f.Path, v)
			r.origin[prefix+key] = r.where(value)
		}
	})
}

func (r yamlReader) value(f *Field, path string, n ast.Node) (any, bool) {
	if _, null := n.(*ast.NullNode); null {
		return nil, false // as if the key were not there
	}
	if f.Type == "list of text" {
		seq, ok := n.(*ast.SequenceNode)
		if !ok {
			r.fail(path, r.where(n), "is no list", "write [a, b]")
			return nil, false
		}
		out := []string{}
		for _, e := range seq.Values {
			s, ok := scalar(e)
			if !ok {
				r.fail(path, r.where(e), "holds something that is no text", "")
				return nil, false
			}
			out = append(out, s)
		}
		return out, true
	}
	s, ok := scalar(n)
	if !ok {
		r.fail(path, r.where(n), "is no single value", "its type is "+f.Type)
		return nil, false
	}
	v, err := f.parse(s)
	if err != nil {
		r.fail(path, r.where(n), err.Error(), "")
	}
	return v, err == nil
}

// scalar gives the text of a scalar as it is written.
func scalar(n ast.Node) (string, bool) {
	switch s := n.(type) {
	case *ast.StringNode:
		return s.Value, true
	case *ast.LiteralNode:
		return s.Value.Value, true
	case *ast.BoolNode, *ast.IntegerNode, *ast.FloatNode:
		return n.GetToken().Value, true
	case *ast.MappingNode:
		return hostAndPort(s)
	}
	return "", false
}

// hostAndPort puts together what the parser takes apart inside braces: there
// {brokers: [a:1]} reads as a mapping, although YAML wants a space behind the
// colon of one.
func hostAndPort(m *ast.MappingNode) (string, bool) {
	if len(m.Values) != 1 {
		return "", false
	}
	key, value := m.Values[0].Key.GetToken(), m.Values[0].Value.GetToken()
	if key == nil || value == nil || value.Position.Line != key.Position.Line ||
		value.Position.Column != key.Position.Column+len(key.Value)+1 {
		return "", false
	}
	v, ok := scalar(m.Values[0].Value)
	return key.Value + ":" + v, ok
}

// list reads a list of mappings, each filled up with the defaults.
func (r yamlReader) list(f *Field, n ast.Node) {
	if _, null := n.(*ast.NullNode); null || n == nil {
		return
	}
	seq, ok := n.(*ast.SequenceNode)
	if !ok {
		r.fail(f.Path, r.where(n), "is no list", "write each element behind a dash: - name: …")
		return
	}
	out := []any{}
	for i, e := range seq.Values {
		m := map[string]any{}
		for j := range f.Element {
			m[f.Element[j].Path] = f.Element[j].defaultValue()
		}
		prefix := fmt.Sprintf("%s[%d].", f.Path, i)
		r.origin[strings.TrimSuffix(prefix, ".")] = r.where(e)
		r.fields(e, f.Element, prefix, func(key string, v any) { m[key] = v })
		out = append(out, m)
	}
	r.values[f.Path] = out
	r.origin[f.Path] = r.where(n)
}
