package fold

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/cockroachdb/datadriven"

	"sessionfold/fold/state"
	"sessionfold/wire"
)

// TestTranscripts runs the stories in testdata/fold. Rewrite them with
// -rewrite, then read the difference.
func TestTranscripts(t *testing.T) {
	datadriven.Walk(t, "testdata/fold", func(t *testing.T, path string) {
		w := newWorld()
		datadriven.RunTest(t, path, func(t *testing.T, td *datadriven.TestData) string {
			out, err := w.run(td)
			if err != nil {
				td.Fatalf(t, "%v", err)
			}
			return out
		})
	})
}

func newWorld() *world {
	return &world{cfg: &Config{}, sources: map[string]*folded{}, dump: dumper{names: map[wire.ID]string{}}}
}

// world is the state of one transcript: sources by name, each with what a store
// would hold of it.
type world struct {
	cfg     *Config
	sources map[string]*folded
	order   []string
	dump    dumper
	keys    *wire.Keys  // enrolled
	each    func(*Step) // is told of every step; may be nil
}

type folded struct {
	src      *wire.Source
	front    Frontier
	partials map[wire.ID]*Partial
	states   map[wire.ID]*state.State // nil until there is one
	each     func(*Step)
}

func (f *folded) fold(cfg *Config, recs []wire.Record) *Step {
	step := new(Scratch).Apply(cfg, f.src, f.front, f.partials, f.states, recs)
	if step == nil {
		return nil
	}
	if err := step.valid(true); err != nil {
		panic(err)
	}
	if f.each != nil {
		f.each(step)
	}
	f.front = step.Frontier
	for i := range step.Sessions {
		f.partials[step.Sessions[i].ID] = step.Sessions[i].New
		if s := step.Sessions[i].State; s != nil {
			if f.states == nil {
				f.states = map[wire.ID]*state.State{}
			}
			f.states[step.Sessions[i].ID] = s.State
		}
	}
	return step
}

func (w *world) run(td *datadriven.TestData) (string, error) {
	first := ""
	if len(td.CmdArgs) > 0 {
		first = td.CmdArgs[0].Key
	}
	arg := func(key, def string) string {
		if a, ok := td.Arg(key); ok && len(a.Vals) > 0 {
			return a.Vals[0]
		}
		return def
	}
	num := func(key string, def uint64) uint64 {
		n, err := strconv.ParseUint(arg(key, strconv.FormatUint(def, 10)), 10, 64)
		if err != nil {
			panic(err)
		}
		return n
	}
	switch td.Cmd {
	case "cap": // rows kept per session and source
		w.cfg = &Config{TimelineCap: num(first, 0)}
		w.cfg.TimelineCap, _ = strconv.ParseUint(first, 10, 64)
		return "", nil
	case "source":
		d, topic := wire.DialectAGDX, arg("topic", "s.agent.sessions")
		for d.String() != arg("dialect", "agdx") {
			d++
		}
		w.sources[first] = &folded{
			src: wire.NewSource("s", topic, num("generation", 1), uint32(num("partition", 0)),
				wire.RoleOf("s", topic), d),
			partials: map[wire.ID]*Partial{}, each: w.each,
		}
		w.order = append(w.order, first)
		return "", nil
	case "keys": // enrols the keys of the names given, and no others
		return w.enrol(td)
	case "links":
		return w.links(td, first)
	case "previews":
		w.cfg.Previews = first == "on"
		return "", nil
	case "session", "view", "after", "position", "audit", "partial", "native_gaps":
		return w.read(td, first, num)
	}
	f := w.sources[first]
	if f == nil {
		return "", fmt.Errorf("no source %q", first)
	}
	switch td.Cmd {
	case "fold":
		recs, err := w.records(td.Input)
		if err != nil {
			return "", err
		}
		return w.guard(func() string { return w.dump.step(f.fold(w.cfg, recs)) }), nil
	case "native":
		recs, err := w.native(f.src, td.Input)
		if err != nil {
			return "", err
		}
		batch := int(num("batch", uint64(len(recs))))
		return w.guard(func() string {
			var out strings.Builder
			for part := range slices.Chunk(recs, batch) {
				step := f.fold(w.cfg, part)
				if !td.HasArg("quiet") {
					out.WriteString(w.dump.step(step))
				}
			}
			return out.String()
		}), nil
	case "agdx":
		recs, err := w.decode(f.src, td.Input)
		if err != nil {
			return "", err
		}
		return w.guard(func() string { return w.dump.step(f.fold(w.cfg, recs)) }), nil
	case "many": // one record for each of N sessions, in descending order of id
		return w.many(f, int(num("sessions", 0))), nil
	case "expire":
		reason := GapExpiredBeforeFold
		if arg("reason", "") == "source_lost" {
			reason = GapSourceLost
		}
		f.front = f.front.Expire(num("to", 0), reason)
		return w.dump.fields(f.front) + "\n", nil
	case "lose":
		f.front = f.front.Lose(num("end", 0))
		return w.dump.fields(f.front) + "\n", nil
	case "copy": // another store's copy of the source as it stands, perhaps under an older frontier
		c := &folded{src: f.src, front: f.front, partials: map[wire.ID]*Partial{}}
		for id, p := range f.partials {
			c.partials[id] = p
		}
		w.sources[arg("as", "")] = c
		w.order = append(w.order, arg("as", ""))
		return "", nil
	case "gaps":
		st := SourceState{Gaps: f.front.Gaps}
		if td.HasArg("retained") {
			st.RetainedFrom = ptr(num("retained", 0))
		}
		if td.HasArg("rebuild") {
			st.Rebuilding, st.RebuildFrom = true, num("rebuild", 0)
		}
		k := Keyed{Source: f.src, Partial: f.partials[w.nameID(arg("of", ""))], Next: f.front.Next}
		var out strings.Builder
		for _, g := range k.Gaps(st) {
			fmt.Fprintf(&out, "%d..%d %s\n", g.From, g.To, g.Reason)
		}
		return out.String(), nil
	}
	return "", fmt.Errorf("no command %q", td.Cmd)
}

// guard prints a panic of the fold in place of its step.
func (w *world) guard(f func() string) (out string) {
	defer func() {
		if p := recover(); p != nil {
			out = fmt.Sprintf("panic: %v\n", p)
		}
	}()
	return f()
}

func (w *world) records(input string) ([]wire.Record, error) {
	var recs []wire.Record
	for _, line := range strings.Split(strings.TrimSpace(input), "\n") {
		if line == "" {
			continue
		}
		rec, err := w.record(line)
		if err != nil {
			return nil, err
		}
		recs = append(recs, rec)
	}
	return recs, nil
}

func (w *world) many(f *folded, n int) string {
	recs := make([]wire.Record, n)
	for i := range recs {
		name := fmt.Sprintf("n%06d", n-i)
		recs[i] = wire.Record{Offset: f.front.Next + uint64(i), Time: 1, Session: w.nameID(name), HasSession: true, Display: wire.DisplayAgentMessage}
	}
	step := f.fold(w.cfg, recs)
	var b strings.Builder
	fmt.Fprintf(&b, "%d sessions, frontier %s\n", len(step.Sessions), w.dump.fields(step.Frontier))
	for i := range step.Changes {
		b.WriteString(w.dump.change(&step.Changes[i]) + "\n")
	}
	return b.String()
}

// read merges the session named first over all sources, in the order "in" gives.
func (w *world) read(td *datadriven.TestData, first string, num func(string, uint64) uint64) (string, error) {
	id := w.sessionID(first)
	names := w.order
	if a, ok := td.Arg("in"); ok {
		names = a.Vals
	}
	var ks []Keyed
	for _, n := range names {
		f := w.sources[n]
		if p := f.partials[id]; p != nil {
			ks = append(ks, Keyed{Source: f.src, Partial: p, Next: f.front.Next})
		}
	}
	s := Merge(id, ks)
	if s == nil {
		return "no session\n", nil
	}
	switch td.Cmd {
	case "audit", "partial":
		return w.nativeView(td, s)
	case "native_gaps":
		return fmt.Sprintln(s.NativeGaps()), nil
	case "session":
		return w.dump.session(s), nil
	case "position":
		p := s.ListPosition()
		for _, k := range s.Sources {
			if k.Source.Key() == p.Source {
				return fmt.Sprintf("%d %s start=%t\n", p.Time, k.Source, p.Start), nil
			}
		}
		return "", fmt.Errorf("position %v is of no source", p)
	case "after": // is a record at this place after the end
		f := w.sources[td.CmdArgs[1].Key]
		return fmt.Sprintln(s.AfterEnd(f.src.Address(num("time", 0), num("offset", 0)))), nil
	}
	in := ViewInput{Now: num("now", 0), Liveness: Liveness{Known: !td.HasArg("unknown"), LastHeartbeat: num("heartbeat", 0)}}
	if td.HasArg("head") || td.HasArg("retained") {
		st := SourceState{Rebuilding: td.HasArg("rebuilding")}
		st.Head, st.RetainedFrom = ptr(num("head", 0)), ptr(num("retained", 0))
		in.Sources = map[wire.SourceKey]SourceState{s.Sources[0].Source.Key(): st}
	}
	v := View(s, in)
	return w.dump.fields(v, "Frontier") + "\n" + w.frontier(v) + "\n", nil
}

func (w *world) frontier(v wire.SessionInfo) string {
	out := make([]string, len(v.Frontier))
	for i := range v.Frontier {
		out[i] = "  " + w.dump.fields(v.Frontier[i], "TopicID", "TopicGenerationText")
	}
	return strings.Join(out, "\n")
}
