package fold

import (
	"fmt"
	"maps"
	"os"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/cockroachdb/datadriven"
	"github.com/google/go-cmp/cmp"

	"sessionfold/testenv/agdxgen"
	"sessionfold/testenv/nativegen"
	"sessionfold/testenv/schema"
	"sessionfold/wire"
)

// Every change row of every story, and of generated logs of all dialects, with and
// without summaries, fits the published schema, and there is no property in the
// schema that none of them has. testenv and the worker's own tests hold the rows
// against it that lie in Kafka.
func TestChangeRowsFitTheSchema(t *testing.T) {
	if testing.Short() {
		t.Skip("nothing in it runs at the same time as anything else")
	}
	rows, err := schema.New()
	if err != nil {
		t.Fatal(err)
	}
	bad, steps := 0, 0
	check := func(s *Step) {
		steps++
		for _, summaries := range []bool{false, true} {
			if !summaries && steps%4 != 0 {
				continue
			}
			list := changeRows(&Config{Summaries: summaries}, s)
			for i := range list {
				if err := rows.Check(list[i].AppendJSON(nil)); err != nil && bad < 20 {
					bad++
					t.Error(err)
				}
			}
		}
	}
	datadriven.Walk(t, "testdata/fold", func(t *testing.T, path string) {
		w := newWorld()
		w.each = check
		datadriven.RunTest(t, path, func(t *testing.T, td *datadriven.TestData) string {
			if _, err := w.run(td); err != nil {
				td.Fatalf(t, "%v", err)
			}
			return td.Expected // TestTranscripts looks at what comes out
		})
	})
	epoch := time.UnixMilli(1_764_000_000_000)
	put := generatedLog(check)
	for e := range agdxgen.New(agdxgen.Options{Stream: "s", Seed: 3, Epoch: epoch, Sessions: 12, Rate: 100}).All() {
		put(wire.DialectAGDX, e)
	}
	for _, d := range []wire.Dialect{wire.DialectDeepStrike, wire.DialectEverruns} {
		for e := range nativegen.New(nativegen.Options{Dialect: d, Stream: "s", Topic: d.String(), Seed: 3, Epoch: epoch, Sessions: 12, Rate: 100}).All() {
			put(d, e)
		}
	}
	example(t, rows)
	if unseen := rows.Unseen(); len(unseen) > 0 {
		t.Errorf("no row has these properties of the schema: %s", strings.Join(unseen, ", "))
	}
	t.Logf("%d rows of %d steps", rows.Checked(), steps)
	if n := rows.Checked(); n < 1_500 {
		t.Errorf("only %d rows were checked", n)
	}
}

// example holds the row that docs/change-topic.md shows against the schema.
func example(t *testing.T, rows *schema.Rows) {
	t.Helper()
	b, err := os.ReadFile("../docs/change-topic.md")
	if err != nil {
		t.Fatal(err)
	}
	_, text, _ := strings.Cut(string(b), "```json\n")
	text, _, _ = strings.Cut(text, "```")
	if _, err := wire.DecodeChangeRow([]byte(text)); err != nil {
		t.Errorf("the example of docs/change-topic.md: %v", err)
	}
	if err := rows.Check([]byte(text)); err != nil {
		t.Errorf("the example of docs/change-topic.md: %v", err)
	}
}

// generatedLog folds records one by one, each in a step of its own.
func generatedLog(check func(*Step)) func(wire.Dialect, agdxgen.Event) {
	topics, decoders := map[string]*folded{}, map[string]wire.Decoder{}
	cfg := &Config{Previews: true}
	return func(d wire.Dialect, e agdxgen.Event) {
		f := topics[e.Topic]
		if f == nil {
			f = &folded{src: wire.NewSource("s", e.Topic, 1<<63, 0, e.Role, d), partials: map[wire.ID]*Partial{}, each: check}
			topics[e.Topic], decoders[e.Topic] = f, wire.NewDecoder(d, nil)
		}
		if !e.Role.Folded() {
			return
		}
		raw := wire.Raw{Offset: f.front.Next, Timestamp: 1_764_000_000_000 + e.At.Milliseconds(), Key: e.Key, Value: e.Value, Headers: e.Headers}
		f.fold(cfg, decoders[e.Topic].Decode(f.src, []wire.Raw{raw}))
	}
}

// readsOnly are what a view has and the summary of a change row has not: it needs
// the clock, other sources, other sessions or the brokers.
var readsOnly = []string{
	"summaries[].children", "summaries[].flags.lane_conflict", "summaries[].flags.rebuilding",
	"summaries[].frontier[].head", "summaries[].frontier[].retained_from", "summaries[].last_heartbeat_at",
	"summaries[].subtree", "summaries[].subtree.*",
}

// The schema has the fields of the types, each, and no others: a field that is
// added is added there too, or to the list of what reads alone have.
func TestSchemaHasEveryField(t *testing.T) {
	rows, err := schema.New()
	if err != nil {
		t.Fatal(err)
	}
	all := map[string]bool{}
	jsonFields("", reflect.TypeFor[wire.ChangeRow](), all)
	used := map[string]bool{}
	for path := range all {
		for _, r := range readsOnly {
			if under, below := strings.CutSuffix(r, "*"); path == r || below && strings.HasPrefix(path, under) {
				used[r] = true
				delete(all, path)
			}
		}
	}
	if d := cmp.Diff(slices.Sorted(maps.Keys(all)), rows.Properties()); d != "" {
		t.Errorf("the types (-) and docs/schema/change-row.schema.json (+) differ:\n%s", d)
	}
	if len(used) != len(readsOnly) {
		t.Errorf("of %q only %v are fields", readsOnly, used)
	}
}

// jsonFields adds the paths of a type's fields as JSON names them.
func jsonFields(path string, t reflect.Type, all map[string]bool) {
	switch {
	case t.Kind() == reflect.Pointer:
		jsonFields(path, t.Elem(), all)
	case t.Kind() == reflect.Slice:
		jsonFields(path+"[]", t.Elem(), all)
	case t.Kind() == reflect.Struct:
		for i := range t.NumField() {
			f := t.Field(i)
			name, _, _ := strings.Cut(f.Tag.Get("json"), ",")
			if name == "" || name == "-" {
				panic(fmt.Sprintf("%s.%s has no name in JSON", t, f.Name))
			}
			at := strings.TrimPrefix(path+"."+name, ".")
			all[at] = true
			jsonFields(at, f.Type, all)
		}
	}
}
