package app

import (
	"bytes"
	"context"
	"fmt"
	"strings"
	"testing"

	"sessionfold/cmd/folder/internal/verify"
	"sessionfold/fold"
	"sessionfold/index/row"
	"sessionfold/source"
	"sessionfold/wire"
)

// dump is what the worker hands out to verify; change may alter its rows.
func (r *rig) dump(w *running, change func(key, value []byte) []byte) []byte {
	r.t.Helper()
	rd, err := w.Store().Reader()
	r.must(err)
	defer rd.Close()
	var b bytes.Buffer
	out := verify.NewWriter(&b)
	r.must(rd.Dump(context.Background(), r.stream, func(key, value []byte) error {
		if change != nil {
			if value = change(key, value); value == nil {
				return nil
			}
		}
		return out.Put(key, value)
	}))
	r.must(out.End())
	return b.Bytes()
}

func (r *rig) verify(dump []byte) (*verify.Result, error) {
	r.t.Helper()
	return r.verifyAs(dump, source.Stream{Name: r.stream, Topics: wire.TopicsOf(r.stream)}, fold.Config{})
}

func (r *rig) verifyAs(dump []byte, stream source.Stream, cfg fold.Config) (*verify.Result, error) {
	r.t.Helper()
	log, err := source.NewReader(source.Conn{Brokers: r.k.Addrs}, []source.Stream{stream})
	r.must(err)
	defer log.Close()
	ctx := context.Background()
	heads, err := log.Heads(ctx)
	r.must(err)
	starts := map[wire.SourceKey]uint64{}
	for tp, h := range heads {
		starts[wire.NewSource(r.stream, tp.Topic, h.Generation, uint32(tp.Partition), 0, 0).Key()] = h.Start
	}
	return verify.Run(ctx, bytes.NewReader(dump), log, verify.Options{Stream: r.stream, Fold: cfg, Keep: 10, Starts: starts})
}

func (r *rig) verified(dump []byte) *verify.Result {
	r.t.Helper()
	v, err := r.verify(dump)
	r.must(err)
	if !v.Equal() || v.Whole+v.Partly+v.Older == 0 {
		r.t.Fatalf("the index is not the log's: %+v", v)
	}
	return v
}

func TestVerifyEqual(t *testing.T) {
	t.Parallel()
	r := newRig(t, 2)
	r.sessions(60)
	w := r.start(r.config(t.TempDir(), "a"))
	r.caughtUp(w)
	dump := r.dump(w, nil)
	r.sessions(20) // behind the snapshot: none of its business
	v := r.verified(dump)
	if v.Whole != 60 || v.Partly+v.Older != 0 || v.Rows < 180 {
		t.Fatalf("compared %+v", v)
	}
}

// Whatever is changed in the index, verify says what.
func TestVerifyFindsDifferences(t *testing.T) {
	t.Parallel()
	r := newRig(t, 1)
	r.sessions(30)
	w := r.start(r.config(t.TempDir(), "a"))
	r.caughtUp(w)
	partial := func(change func(*fold.Partial)) func(n *int, key, value []byte) []byte {
		return func(n *int, key, value []byte) []byte {
			if key[0] != row.TagPartial || *n > 0 {
				return value
			}
			*n++
			p, err := row.DecodePartial(value)
			r.must(err)
			change(p)
			return row.AppendPartialValue(nil, p)
		}
	}
	for name, c := range map[string]struct {
		change func(n *int, key, value []byte) []byte
		says   string
	}{
		"a counter": {partial(func(p *fold.Partial) { p.Counters.TokensIn++ }), "Counters.TokensIn"},
		"a time":    {partial(func(p *fold.Partial) { p.Last.Time++ }), "Last.Time"},
		"a record":  {partial(func(p *fold.Partial) { p.Records++ }), "Records"},
		"a session that is gone": {func(n *int, key, value []byte) []byte {
			if key[0] == row.TagPartial && *n == 0 {
				*n++
				return nil
			}
			return value
		}, "only in the log"},
		"a session too many": {func(n *int, key, value []byte) []byte {
			if key[0] == row.TagPartial && *n == 0 {
				*n++
				key[20] ^= 1
				key[10] ^= 1
			}
			return value
		}, "only in the index"},
		"rows that are gone": {func(n *int, key, value []byte) []byte {
			if key[0] == row.TagPack && *n == 0 {
				*n++
				return nil
			}
			return value
		}, "timeline"},
		"the source's count": {func(n *int, key, value []byte) []byte {
			if key[0] == row.TagSource && *n == 0 {
				*n++
				m, err := row.DecodeSourceMeta(value)
				r.must(err)
				m.Frontier.Records++
				return row.AppendSourceMeta(nil, &m)
			}
			return value
		}, "records"},
		"a document": {func(n *int, key, value []byte) []byte {
			if key[0] == row.TagHistory && *n == 0 {
				*n++
				e, err := row.DecodeEntry(value)
				r.must(err)
				e.Revision++
				return row.AppendEntry(nil, &e)
			}
			return value
		}, "state history"},
	} {
		n := 0
		v, err := r.verify(r.dump(w, func(key, value []byte) []byte { return c.change(&n, key, value) }))
		r.must(err)
		if n == 0 {
			if name == "a document" {
				continue // the rig's sessions have none
			}
			t.Errorf("%s: nothing was changed", name)
		}
		if v.Equal() || !strings.Contains(fmt.Sprint(v.First, v.Faults), c.says) {
			t.Errorf("%s: %+v, want it to say %q", name, v, c.says)
		}
	}
}

// Records that the log has lost are accounted for: expired while the index had
// them, expired before they were folded, with pruned rows.
func TestVerifyAccountsForRetention(t *testing.T) {
	t.Parallel()
	r := newFakeRig(t, 1)
	r.sessions(40)
	dir := t.TempDir()
	w := r.start(r.config(dir, "a"))
	r.caughtUp(w)
	r.deleteRecords(0, 57)
	v := r.verified(r.dump(w, nil))
	if v.Partly == 0 || v.Older == 0 || v.Whole == 0 {
		t.Fatalf("the log begins in the middle, and every kind of session is there: %+v", v)
	}
	r.must(w.Keep(context.Background()))
	r.verified(r.dump(w, nil))
	w.stop()
	r.sessions(20)
	_, end := r.bounds(wire.TopicPartition{Topic: r.lane})
	r.sessions(20)
	r.deleteRecords(0, end-11) // some were never folded
	w = r.start(r.config(dir, "a"))
	r.caughtUp(w)
	if v := r.verified(r.dump(w, nil)); v.Sources[0].Gaps != 1 {
		t.Fatalf("the gap is not told: %+v", v.Sources)
	}
}

// A later log start gives lower times until the first record that is not raised.
func TestVerifyAccountsForRaisedTimes(t *testing.T) {
	t.Parallel()
	r := newFakeRig(t, 1)
	l := r.raised()
	w := r.start(r.config(t.TempDir(), "a"))
	r.caughtUp(w)
	r.deleteRecords(0, 1) // the record whose time was far ahead
	v := r.verified(r.dump(w, nil))
	if v.Sources[0].Untimed == 0 || v.Sources[0].Untimed >= uint64(l) {
		t.Fatalf("times are compared from offset %d of %d", v.Sources[0].Untimed, l)
	}
	// Not everything is let through behind that offset.
	n := 0
	bad, err := r.verify(r.dump(w, func(key, value []byte) []byte {
		if key[0] == row.TagPartial {
			p, err := row.DecodePartial(value)
			r.must(err)
			if p.First.Offset >= v.Sources[0].Untimed && n == 0 {
				n++
				p.Last.Time++
				return row.AppendPartialValue(nil, p)
			}
		}
		return value
	}))
	r.must(err)
	if n == 0 || bad.Equal() {
		t.Fatalf("a wrong time behind the raised ones was not found (%d changed)", n)
	}
}

// A dump that was cut off is not taken for a whole one.
func TestVerifyRefusesHalfADump(t *testing.T) {
	t.Parallel()
	r := newRig(t, 1)
	r.sessions(5)
	w := r.start(r.config(t.TempDir(), "a"))
	r.caughtUp(w)
	dump := r.dump(w, nil)
	for _, n := range []int{0, 5, len(dump) / 2, len(dump) - 1} {
		if _, err := r.verify(dump[:n]); err == nil {
			t.Errorf("%d of %d bytes were taken for a dump", n, len(dump))
		}
	}
}
