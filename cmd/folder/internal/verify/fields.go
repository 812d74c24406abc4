package verify

import (
	"bytes"
	"fmt"
	"reflect"

	"sessionfold/fold"
	"sessionfold/index/row"
)

// partials compares two partials field by field, with the lists that lie apart
// from them.
func partials(is, fresh *fold.Partial, timed bool) []string {
	same := bytes.Equal(row.AppendPartialValue(nil, is), row.AppendPartialValue(nil, fresh))
	if timed && same && reflect.DeepEqual(links(is), links(fresh)) && reflect.DeepEqual(is.Native, fresh.Native) {
		return nil
	}
	a, b := *is, *fresh
	if !timed {
		a, b = clone(is), clone(fresh)
		untimed(reflect.ValueOf(&a))
		untimed(reflect.ValueOf(&b))
		a.Flags &^= fold.FlagTimesApproximate
		b.Flags &^= fold.FlagTimesApproximate
		a.Silent, b.Silent = 0, 0 // between times that are not compared
	}
	return fields("", reflect.ValueOf(a), reflect.ValueOf(b), nil)
}

func links(p *fold.Partial) []fold.Link {
	if p.Links == nil {
		return nil
	}
	return p.Links.List
}

// clone is a deep copy, by way of the stored form, and with the lists that this
// lacks.
func clone(p *fold.Partial) fold.Partial {
	c, err := row.DecodePartial(row.AppendPartialValue(nil, p))
	if err == nil && p.Links != nil {
		var l []fold.Link
		if l, err = row.DecodeLinks(row.AppendLinksValue(nil, p.Links.List)); err == nil {
			c.Links.List = l
		}
	}
	if err != nil {
		panic("verify: a partial does not survive its own form: " + err.Error())
	}
	if n := p.Native; n != nil {
		c.Native.Seen, c.Native.Attempts, c.Native.Kids = n.Seen, n.Attempts, n.Kids
		if a := n.Audit; a != nil {
			to := c.Native.Audit
			to.Processes, to.Exceeded, to.Used, to.Cancelled, to.Signals = a.Processes, a.Exceeded, a.Used, a.Cancelled, a.Signals
		}
	}
	return *c
}

// perSession bounds the fields named of one session and source.
const perSession = 8

// fields names the fields that differ.
func fields(path string, a, b reflect.Value, out []string) []string {
	if len(out) >= perSession || reflect.DeepEqual(a.Interface(), b.Interface()) {
		return out
	}
	switch {
	case a.Kind() == reflect.Pointer && !a.IsNil() && !b.IsNil():
		return fields(path, a.Elem(), b.Elem(), out)
	case a.Type() == reflect.TypeFor[fold.Said]():
		return said(path, a.Interface().(fold.Said), b.Interface().(fold.Said), out)
	case a.Kind() == reflect.Struct:
		return structs(path, a, b, out)
	case a.Kind() == reflect.Slice && a.Len() == b.Len():
		for i := range a.Len() {
			out = fields(fmt.Sprintf("%s[%d]", path, i), a.Index(i), b.Index(i), out)
		}
		return out
	}
	return append(out, fmt.Sprintf("%s: %s ≠ %s", path, show(a), show(b)))
}

func structs(path string, a, b reflect.Value, out []string) []string {
	for i := range a.NumField() {
		if f := a.Type().Field(i); f.IsExported() {
			name := f.Name
			if path != "" && !f.Anonymous {
				name = path + "." + name
			} else if f.Anonymous {
				name = path
			}
			out = fields(name, a.Field(i), b.Field(i), out)
		}
	}
	return out
}

// said compares two statements. Of a preview it shows how long it is, not what
// it says.
func said(path string, a, b fold.Said, out []string) []string {
	if a.Key != b.Key {
		return append(out, fmt.Sprintf("%s.Key: %d ≠ %d", path, a.Key, b.Key))
	}
	if a.Key.Content() && a.Text != b.Text {
		out = append(out, fmt.Sprintf("%s.Text: %d ≠ %d bytes", path, len(a.Text), len(b.Text)))
		a.Text, b.Text = "", ""
	}
	return structs(path, reflect.ValueOf(a), reflect.ValueOf(b), out)
}

func show(v reflect.Value) string {
	if (v.Kind() == reflect.Pointer || v.Kind() == reflect.Slice) && v.IsNil() {
		return "nothing"
	}
	switch v.Type() { // previews are in them
	case reflect.TypeFor[*fold.Native]():
		return "something"
	case reflect.TypeFor[[]fold.Said]():
		return fmt.Sprintf("%d statements", v.Len())
	}
	if v.Kind() == reflect.Pointer {
		v = v.Elem()
	}
	s := fmt.Sprintf("%v", v.Interface())
	if len(s) > 120 {
		s = s[:120] + "…"
	}
	return s
}
