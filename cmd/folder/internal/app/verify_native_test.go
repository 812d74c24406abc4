package app

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kgo"

	"sessionfold/cmd/folder/internal/verify"
	"sessionfold/fold"
	"sessionfold/index/row"
	"sessionfold/source"
	"sessionfold/testenv"
	"sessionfold/testenv/nativegen"
	"sessionfold/wire"
)

// generated writes a log of the dialect with everything that a program leaves
// behind, bad records, holes and redeliveries among it; it gives its length.
func (r *foreignRig) generated(d wire.Dialect, sessions int) (n int) {
	r.t.Helper()
	g := nativegen.New(nativegen.Options{Dialect: d, Stream: r.stream, Topic: r.topic, Seed: 5, Sessions: sessions, Rate: 50, Epoch: time.UnixMilli(1_764_000_000_000)})
	var recs []*kgo.Record
	for e := range g.All() {
		recs = append(recs, &kgo.Record{Topic: r.topic, Partition: int32(e.Session[15]) % r.parts, Key: e.Key, Value: e.Value})
	}
	ctx, cancel := context.WithTimeout(context.Background(), 20*time.Second)
	defer cancel()
	r.must(r.client.ProduceSync(ctx, recs...).FirstErr())
	return len(recs)
}

// Index and log of a foreign stream are held against each other: nothing differs
// while the worker goes on, and after its sources were begun anew, nor when
// retention took the beginning; whatever is changed in the index is found, in the
// rows of its lists too, and no preview is printed.
func TestVerifyForeign(t *testing.T) {
	for _, d := range []wire.Dialect{wire.DialectDeepStrike, wire.DialectEverruns} {
		t.Run(d.String(), func(t *testing.T) {
			t.Parallel()
			r := newForeignRig(t)
			cfg := fold.Config{Previews: true}
			topics := []wire.TopicRole{{Topic: r.topic, Role: wire.RoleLane}}
			c := r.config(t.TempDir(), "a")
			c.Streams = []Stream{{Name: r.stream, Auto: true, Topics: topics, Fold: cfg}} // the records tell
			n := r.generated(d, 40)
			w := r.start(c)
			r.folded(w)
			check := func(dump []byte) *verify.Result {
				t.Helper()
				v, err := r.verifyAs(dump, source.Stream{Name: r.stream, Topics: topics}, cfg) // the index knows the dialect
				r.must(err)
				return v
			}
			equal := func() *verify.Result {
				t.Helper()
				v := check(r.dump(w, nil))
				if !v.Equal() || v.Whole+v.Partly+v.Older < 40 {
					t.Fatalf("the index is not the log's: %+v", v)
				}
				return v
			}
			if v := equal(); v.Whole < 40 || v.Rows < uint64(n)/2 {
				t.Fatalf("of %d records this was compared: %+v", n, v)
			}
			for name, f := range foreignFaults(d) {
				changed := false
				v := check(r.dump(w, func(key, value []byte) []byte {
					if changed {
						return value
					}
					out, ok := f.change(key, value)
					changed = ok
					return out
				}))
				if said := fmt.Sprint(v.First, v.Faults); !changed || v.Equal() || !strings.Contains(said, f.says) || strings.Contains(said, "tampered") {
					t.Errorf("%s (changed: %t): %+v, want it to say %q", name, changed, v, f.says)
				}
			}

			ctx, cancel := context.WithTimeout(context.Background(), waitLong)
			defer cancel()
			for p := range r.parts {
				r.must(w.BeginAnew(ctx, wire.TopicPartition{Topic: r.topic, Partition: p}, false))
			}
			r.folded(w)
			r.same(w, d, cfg)
			equal()
			_, end := r.bounds(wire.TopicPartition{Topic: r.topic})
			r.deleteRecordsOf(r.topic, 0, end/2)
			if v := equal(); v.Partly == 0 || v.Older == 0 || v.Whole == 0 {
				t.Fatalf("the log begins in the middle, and every kind of session is there: %+v", v)
			}
			if _, err := r.verify(r.dump(w, nil)); !errors.Is(err, source.ErrForeign) {
				t.Fatalf("a stream whose topics are not known was compared: %v", err)
			}
			dump := r.dump(w, nil)
			w.stop()
			r.k.Delete(t, r.topic)
			testenv.Eventually(t, waitLong, func() error {
				if v := check(dump); v.Equal() || v.Skipped < 40 || !strings.Contains(fmt.Sprint(v.Sources, v.Faults), "its topic is gone") {
					return fmt.Errorf("nothing is left to compare with: %+v", v)
				}
				return nil
			})
		})
	}
}

// fault is a change of one row; ok is false for rows that it leaves alone.
type fault struct {
	change func(key, value []byte) (out []byte, ok bool)
	says   string
}

// foreignFaults is what is changed in an index of the dialect, one row each.
func foreignFaults(d wire.Dialect) map[string]fault {
	partial := func(change func(*fold.Partial) bool) func(key, value []byte) ([]byte, bool) {
		return func(key, value []byte) ([]byte, bool) {
			if key[0] != row.TagPartial {
				return value, false
			}
			p, err := row.DecodePartial(value)
			if err != nil || p.Native == nil || !change(p) {
				return value, false
			}
			return row.AppendPartialValue(nil, p), true
		}
	}
	gone := func(tag byte) func(key, value []byte) ([]byte, bool) {
		return func(key, value []byte) ([]byte, bool) {
			if key[0] == tag {
				return nil, true
			}
			return value, false
		}
	}
	// The last byte of a list's chunk belongs to its newest entry.
	list := func(n byte) func(key, value []byte) ([]byte, bool) {
		return func(key, value []byte) ([]byte, bool) {
			k, err := row.ParseChunk(key)
			if err != nil || k.List != n {
				return value, false
			}
			out := append([]byte{}, value...)
			out[len(out)-1] ^= 1
			return out, true
		}
	}
	faults := map[string]fault{
		"a session that is gone": {gone(row.TagPartial), "only in the log"},
		"rows that are gone":     {gone(row.TagPack), "timeline"},
		"a list that is gone":    {gone(row.TagChunk), "missing"},
		"a mark of a record":     {list(1), "Native.Seen"},
		"a redelivery": {partial(func(p *fold.Partial) bool {
			p.Native.Redelivered++
			return true
		}), "Native.Redelivered"},
		"a preview": {partial(func(p *fold.Partial) bool {
			for i := range p.Native.Said {
				if s := &p.Native.Said[i]; s.Key == wire.SayGoal || s.Key == wire.SayOutput {
					s.Text = "tampered"
					return true
				}
			}
			return false
		}), ".Text: "},
		"no statements": {partial(func(p *fold.Partial) bool {
			had := len(p.Native.Said) > 0
			p.Native.Said = nil
			return had
		}), "Native.Said: nothing ≠ "},
	}
	if d == wire.DialectDeepStrike {
		faults["a kernel's number"] = fault{partial(func(p *fold.Partial) bool {
			if p.Native.Audit == nil {
				return false
			}
			p.Native.Audit.Gated++
			return true
		}), "Native.Audit.Gated"}
		faults["a process"] = fault{list(4), "Native.Audit.Processes"}
		faults["a signal"] = fault{list(8), "Native.Audit.Signals"}
		faults["an attempt"] = fault{list(2), "Native.Attempts"}
	} else {
		faults["a child"] = fault{list(3), "Native.Kids"}
	}
	return faults
}
