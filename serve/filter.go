package serve

import (
	"slices"
	"strconv"
	"strings"
	"unicode"

	"sessionfold/fold"
	"sessionfold/wire"
)

// filter says which sessions of a stream a list shows.
type filter struct {
	status      wire.Status // StatusNone: any
	agent       *string
	text        *string // folded
	root        *wire.ID
	labelPrefix *string
	activity    *wire.Activity
	source      *wire.SessionSource
	dialect     *wire.Dialect
	tag         *string
	from, to    *uint64 // µs, of the time between first and last record
}

// filterOf checks the words of a request.
func filterOf(q *wire.SessionList) (filter, error) {
	f := filter{agent: q.Agent, root: q.Root, labelPrefix: q.LabelPrefix}
	if q.Status != nil {
		s, ok := wire.ParseStatus(*q.Status)
		if !ok {
			return f, word("status", *q.Status, "submitted", "active", "paused", "completed", "failed", "canceled")
		}
		f.status = s
	}
	if q.Agent != nil && (*q.Agent == "" || len(*q.Agent) > maxFilterBytes) {
		return f, invalid("agent: an agent id has 1 to %d bytes", maxFilterBytes)
	}
	if q.Text != nil && len(*q.Text) > maxFilterBytes {
		return f, invalid("text: %d bytes, at most %d", len(*q.Text), maxFilterBytes)
	}
	if q.LabelPrefix != nil && len(*q.LabelPrefix) > maxFilterBytes {
		return f, invalid("label_prefix: %d bytes, at most %d", len(*q.LabelPrefix), maxFilterBytes)
	}
	if q.Text != nil {
		t := foldCase(*q.Text)
		f.text = &t
	}
	return f, f.additive(q)
}

// additive checks the words of the filters that HTTP has beside the seed's.
func (f *filter) additive(q *wire.SessionList) error {
	if q.Activity != nil {
		a, ok := wire.ParseActivity(*q.Activity)
		if !ok {
			return word("activity", *q.Activity, wire.ActivityWords()...)
		}
		f.activity = &a
	}
	if q.Source != nil {
		s, ok := wire.ParseSessionSource(*q.Source)
		if !ok {
			return word("source", *q.Source, wire.SessionSourceWords()...)
		}
		f.source = &s
	}
	if q.Dialect != nil {
		d, ok := wire.ParseDialect(*q.Dialect)
		if !ok {
			return word("dialect", *q.Dialect, wire.DialectWords()...)
		}
		f.dialect = &d
	}
	f.from, f.to = q.ActiveFrom, q.ActiveTo
	if f.from != nil && f.to != nil && *f.from > *f.to {
		return invalid("active_from: %d, it is later than active_to, %d", *f.from, *f.to)
	}
	if f.tag = q.Tag; f.tag != nil && (*f.tag == "" || len(*f.tag) > maxFilterBytes) {
		return invalid("tag: a tag has 1 to %d bytes", maxFilterBytes)
	}
	return nil
}

// maxFilterBytes is the length of the longest text that can match.
const maxFilterBytes = 256

// any says that every session passes.
func (f *filter) any() bool {
	return f.status == wire.StatusNone && f.agent == nil && f.text == nil && f.root == nil && f.labelPrefix == nil &&
		f.activity == nil && f.source == nil && f.dialect == nil && f.tag == nil && f.from == nil && f.to == nil
}

// parts are the filter as a cursor is bound to it.
func (f *filter) parts() []string {
	out := []string{f.status.String()}
	for _, v := range []*string{f.agent, f.text, f.labelPrefix} {
		out = append(out, optional(v))
	}
	if f.root == nil {
		out = append(out, "")
	} else {
		out = append(out, f.root.String())
	}
	// Cursors from before a filter was there stay good.
	timed := f.from != nil || f.to != nil
	if timed || f.activity != nil || f.source != nil || f.dialect != nil || f.tag != nil {
		out = append(out, wordOf(f.activity), wordOf(f.source), wordOf(f.dialect), optional(f.tag))
	}
	if timed {
		out = append(out, number(f.from), number(f.to))
	}
	return out
}

// number is the text of a number, "" when there is none.
func number(n *uint64) string {
	if n == nil {
		return ""
	}
	return strconv.FormatUint(*n, 10)
}

// wordOf is the word of a filter, "" when it is not set.
func wordOf[T interface{ String() string }](v *T) string {
	if v == nil {
		return ""
	}
	return (*v).String()
}

// optional tells an absent text from an empty one.
func optional(v *string) string {
	if v == nil {
		return ""
	}
	return "=" + *v
}

// match looks at the merge, not at the view: it costs no allocation per session
// that does not pass.
func (f *filter) match(s *fold.Session) bool {
	if f.status != wire.StatusNone && s.Status != f.status {
		return false
	}
	if f.agent != nil && !hasAgent(s, *f.agent) {
		return false
	}
	if f.root != nil && !inTree(s, *f.root) {
		return false
	}
	if f.activity != nil && s.Activity() != *f.activity || f.dialect != nil && s.Sources[0].Source.Dialect != *f.dialect {
		return false
	}
	if (f.from != nil || f.to != nil) && (s.Records == 0 || f.from != nil && s.Last.Time < *f.from || f.to != nil && s.First.Time > *f.to) {
		return false
	}
	if f.source != nil {
		if source, ok := s.Origin(); !ok || source != *f.source {
			return false
		}
	}
	if f.tag != nil && !slices.Contains(s.Tags(), *f.tag) {
		return false
	}
	if f.labelPrefix == nil && f.text == nil {
		return true
	}
	label, has := s.Label()
	if f.labelPrefix != nil && !(has && strings.HasPrefix(label, *f.labelPrefix)) {
		return false
	}
	return f.text == nil || has && strings.Contains(foldCase(label), *f.text) || strings.Contains(foldCase(s.ID.String()), *f.text) ||
		s.NativeID != "" && strings.Contains(foldCase(s.NativeID), *f.text)
}

// hasAgent: the session's owner or one of the agents that wrote.
func hasAgent(s *fold.Session, agent string) bool {
	if s.Owner() == agent {
		return true
	}
	for _, a := range s.Agents {
		if a == agent {
			return true
		}
	}
	return false
}

// inTree: the root itself, those that name it as root, and its children that
// name no root.
func inTree(s *fold.Session, root wire.ID) bool {
	switch {
	case s.ID == root:
		return true
	case s.Root != nil:
		return *s.Root == root
	}
	return s.Parent != nil && *s.Parent == root
}

// foldCase maps every rune to the least of those that differ from it in case
// only, so that texts that are equal but for case become equal.
func foldCase(s string) string {
	return strings.Map(func(r rune) rune {
		least := r
		for f := unicode.SimpleFold(r); f != r; f = unicode.SimpleFold(f) {
			least = min(least, f)
		}
		return least
	}, s)
}
