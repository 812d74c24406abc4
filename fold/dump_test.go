package fold

import (
	"fmt"
	"reflect"
	"strconv"
	"strings"

	"sessionfold/wire"
)

// dumper prints values for transcripts: every field that is not zero, by
// reflection, so that a field added later cannot be forgotten. Ids are printed
// by the names the transcript gave them.
type dumper struct{ names map[wire.ID]string }

func (d dumper) id(id wire.ID) string {
	if n, ok := d.names[id]; ok {
		return n
	}
	return id.String()
}

// fields prints "Name=value" for the fields of a struct that are not zero.
func (d dumper) fields(v any, skip ...string) string {
	rv := reflect.Indirect(reflect.ValueOf(v))
	var out []string
next:
	for i := 0; i < rv.NumField(); i++ {
		name := rv.Type().Field(i).Name
		for _, s := range skip {
			if s == name {
				continue next
			}
		}
		if f := rv.Field(i); rv.Type().Field(i).IsExported() && !f.IsZero() {
			out = append(out, name+"="+d.value(f))
		}
	}
	return strings.Join(out, " ")
}

func (d dumper) value(v reflect.Value) string {
	switch x := v.Interface().(type) {
	case wire.ID:
		return d.id(x)
	case Stamp:
		return fmt.Sprintf("%d@%d", x.Time, x.Offset)
	case wire.Address:
		return fmt.Sprintf("%d:%s[%d]@%d/%d", x.Time, x.Topic, x.Partition, x.Offset, x.Generation)
	case Named:
		return fmt.Sprintf("%s:%d@%d", d.id(x.ID), x.At.Time, x.At.Offset)
	case Flag:
		return flagText(x)
	case Gap:
		return fmt.Sprintf("%d..%d:%s", x.From, x.To, x.Reason)
	case fmt.Stringer:
		if v.Kind() != reflect.Pointer {
			return x.String()
		}
	}
	switch v.Kind() {
	case reflect.Pointer:
		return d.value(v.Elem())
	case reflect.Struct:
		return "{" + d.fields(v.Interface()) + "}"
	case reflect.String:
		return text(v.String())
	case reflect.Slice:
		out := make([]string, v.Len())
		for i := range out {
			out[i] = d.value(v.Index(i))
		}
		return "[" + strings.Join(out, " ") + "]"
	}
	return fmt.Sprint(v.Interface())
}

// text quotes what is not plain and shortens long runs, saying how long they are.
func text(s string) string {
	if len(s) > 60 {
		return fmt.Sprintf("%s…%s(%d bytes)", strconv.Quote(s[:cutRune(s, 8)]), strconv.Quote(s[cutRune(s, len(s)-6):]), len(s))
	}
	return strconv.Quote(s)
}

func cutRune(s string, n int) int {
	for n > 0 && s[n]&0xc0 == 0x80 {
		n--
	}
	return n
}

func flagText(f Flag) string {
	var out []string
	for _, b := range []struct {
		flag Flag
		name string
	}{{FlagOverflow, "overflow"}, {FlagLabelTruncated, "label_truncated"}, {FlagTimesApproximate, "times_approximate"}, {FlagLane, "lane"}, {FlagTokensEstimated, "tokens_estimated"}, {FlagSeqConflict, "seq_conflict"}} {
		if f&b.flag != 0 {
			out = append(out, b.name)
			f &^= b.flag
		}
	}
	if f != 0 {
		out = append(out, fmt.Sprintf("%#x", uint16(f)))
	}
	return strings.Join(out, "|")
}

// step prints a whole step.
func (d dumper) step(s *Step) string {
	if s == nil {
		return "no step\n"
	}
	var b strings.Builder
	fmt.Fprintf(&b, "%s %d..%d\n", s.Source, s.From, s.To)
	fmt.Fprintf(&b, "  before   %s\n  frontier %s\n", d.fields(s.Before), d.fields(s.Frontier))
	for i := range s.Sessions {
		ss := &s.Sessions[i]
		known := "new"
		if ss.Old != nil {
			known = fmt.Sprintf("known by %d", ss.Old.Records)
		}
		fmt.Fprintf(&b, "  %s %s, last %d\n    %s\n", d.id(ss.ID), known, ss.Last, d.fields(ss.New))
		for _, r := range ss.Rows {
			fmt.Fprintf(&b, "    row %d@%d %s %s", r.Time, r.Rec.Offset, r.Rec.Kind, r.Rec.Display)
			if r.Rec.Reason != "" {
				fmt.Fprintf(&b, " (%s)", r.Rec.Reason)
			}
			if r.Rec.Rare != nil && r.Rec.Rare.Actor != "" {
				fmt.Fprintf(&b, " verified %q", r.Rec.Rare.Actor)
			}
			b.WriteString("\n")
		}
	}
	for i := range s.Changes {
		b.WriteString("  change " + d.change(&s.Changes[i]) + "\n")
	}
	return b.String()
}

func (d dumper) change(c *wire.ChangeRow) string {
	var b strings.Builder
	fmt.Fprintf(&b, "v%d %s %s[%d]/%d seq %d, %d..%d:", c.V, c.Stream, c.Source.Topic, c.Source.Partition, c.Source.Generation, c.Seq, c.From, c.To)
	if len(c.Sessions) > 6 {
		fmt.Fprintf(&b, " %d sessions %s … %s", len(c.Sessions), d.id(c.Sessions[0]), d.id(c.Sessions[len(c.Sessions)-1]))
	} else {
		for i, id := range c.Sessions {
			p := c.Positions[i]
			fmt.Fprintf(&b, " %s=%s[%d]@%d/%d", d.id(id), p.Topic, p.Partition, p.Offset, p.Generation)
		}
	}
	if c.Truncated {
		b.WriteString(" truncated")
	}
	return b.String()
}

// session prints a merged session; its sources by name and what each is worth.
func (d dumper) session(s *Session) string {
	if s == nil {
		return "no session\n"
	}
	var b strings.Builder
	for i := range s.Sources {
		k := &s.Sources[i]
		fmt.Fprintf(&b, "source %s/%d next=%d records=%d\n", k.Source, k.Source.Generation, k.Next, k.Partial.Records)
	}
	return b.String() + d.fields(s, "ID", "Sources") + "\n"
}
