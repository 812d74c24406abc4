package index

import (
	"context"
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"fmt"
	"hash"

	"sessionfold/fold"
	"sessionfold/fold/state"
	"sessionfold/index/row"
	"sessionfold/wire"
)

// Digest stands for the logical content of a stream or a session: two stores
// that folded the same log, its signatures under the same keys, have the same
// digests, whatever their batches, topic generations, apply sequences and changelogs. Parts differ apart: Rows
// also differs while timeline rows are to be rebuilt or were pruned.
type Digest struct {
	Partials [32]byte // what is known of sessions, their state documents and their histories
	Rows     [32]byte // their timelines
	Sources  [32]byte // frontiers without change sequences, and gaps
	Sessions uint64
	Events   uint64 // timeline rows
}

// String is one line for people and for comparing.
func (d Digest) String() string {
	return fmt.Sprintf("sessions %d %s, rows %d %s, sources %s",
		d.Sessions, hex.EncodeToString(d.Partials[:]), d.Events, hex.EncodeToString(d.Rows[:]), hex.EncodeToString(d.Sources[:]))
}

// Digest reads a whole stream.
func (s *Store) Digest(ctx context.Context, stream string) (Digest, error) {
	partials, rows := sha256.New(), sha256.New()
	var d Digest
	sources, err := s.digestSessions(ctx, stream, func(id wire.ID, one Digest) error {
		partials.Write(id[:])
		partials.Write(one.Partials[:])
		rows.Write(id[:])
		rows.Write(one.Rows[:])
		d.Sessions++
		d.Events += one.Events
		return nil
	})
	if err != nil {
		return Digest{}, err
	}
	d.Sources = sources
	partials.Sum(d.Partials[:0])
	rows.Sum(d.Rows[:0])
	return d, nil
}

// DigestSessions calls f with the digest of every session of a stream,
// ascending by id; Sources of those is not set. Two stores' calls side by side
// find the first session that differs.
func (s *Store) DigestSessions(ctx context.Context, stream string, f func(wire.ID, Digest) error) error {
	_, err := s.digestSessions(ctx, stream, f)
	return err
}

func (s *Store) digestSessions(ctx context.Context, stream string, f func(wire.ID, Digest) error) (sources [32]byte, err error) {
	r, err := s.Reader()
	if err != nil {
		return sources, err
	}
	defer r.Close()
	list, err := r.Sources(stream)
	if err != nil {
		return sources, err
	}
	sources = digestSources(list)
	return sources, r.Sessions(ctx, stream, func(id wire.ID, ks []fold.Keyed) error {
		d, err := r.digestSession(id, ks)
		if err != nil {
			return err
		}
		return f(id, d)
	})
}

// digestSession sorts the sources by name, which fold.Merge also does.
func (r *Reader) digestSession(id wire.ID, ks []fold.Keyed) (Digest, error) {
	d := Digest{Sessions: 1}
	m := fold.Merge(id, ks)
	if m == nil {
		return d, fmt.Errorf("index: session %s has no records", id)
	}
	if err := r.Lists(id, m.Sources); err != nil {
		return d, err
	}
	h := digester{sha256.New()}
	for i := range m.Sources {
		k := &m.Sources[i]
		h.source(k.Source)
		h.bytes(row.AppendPartialValue(nil, k.Partial))
		if l := k.Partial.Links; l != nil {
			h.bytes(row.AppendLinksValue(nil, l.List))
		}
		_ = row.Chunks(row.PartialKey{}, k.Partial, func(c row.ChunkKey) error { // the call gives none
			h.bytes(row.AppendChunkValue(nil, k.Partial, c))
			return nil
		})
		if err := r.digestState(h, id, k); err != nil {
			return d, err
		}
	}
	h.Sum(d.Partials[:0])
	h = digester{sha256.New()}
	t, err := r.Timeline(id, m.Sources, nil, nil)
	if err != nil {
		return d, err
	}
	for t.Next() {
		h.source(t.event.Source)
		h.event(&t.event.Event)
		d.Events++
	}
	h.Sum(d.Rows[:0])
	if err := t.Err(); err != nil {
		return d, err
	}
	return d, t.Close()
}

// digestState puts the document and the kept outcomes in.
func (r *Reader) digestState(h digester, id wire.ID, k *fold.Keyed) error {
	if k.Partial.State == nil {
		return nil
	}
	s, err := r.State(id, k)
	if err != nil {
		return err
	}
	h.bytes([]byte(s.Doc.Text()))
	history, err := r.History(id, k, state.HistoryLen)
	for i := range history {
		h.bytes(row.AppendEntry(nil, &history[i]))
	}
	return err
}

func digestSources(list []Meta) (sum [32]byte) {
	h := digester{sha256.New()}
	for i := range list {
		f := &list[i].Frontier
		h.source(list[i].Source)
		h.numbers(f.Next, f.Time, f.Records, f.Undecodable, f.Invalid, f.Unattributed, f.UnattributedLast, f.LinksRefused, uint64(len(f.Gaps)))
		h.numbers(f.Signatures.Verified, f.Signatures.Unknown, f.Signatures.Wrong)
		for _, g := range f.Gaps {
			h.numbers(g.From, g.To, uint64(g.Reason))
		}
	}
	h.Sum(sum[:0])
	return sum
}

// digester writes values so that no two lists of them look alike.
type digester struct{ hash.Hash }

func (h digester) numbers(ns ...uint64) {
	var b [8]byte
	for _, n := range ns {
		binary.BigEndian.PutUint64(b[:], n)
		h.Write(b[:])
	}
}

func (h digester) bytes(b []byte) {
	h.numbers(uint64(len(b)))
	h.Write(b)
}

func (h digester) texts(ts ...string) {
	for _, t := range ts {
		h.bytes([]byte(t))
	}
}

// source is named without its generation.
func (h digester) source(s *wire.Source) {
	h.texts(s.Topic)
	h.numbers(uint64(s.Partition), uint64(s.Role), uint64(s.Dialect))
}

func (h digester) event(e *row.Event) {
	h.numbers(e.Offset, e.Time, uint64(e.Kind), uint64(e.Display))
	h.texts(e.Operation, e.Agent, e.Addressee, e.Tool, e.Reason, e.Actor)
	h.numbers(flag(e.HasCorrelation), flag(e.HasCause), flag(e.Usage != nil), uint64(len(e.Summary)))
	h.Write(e.Correlation[:])
	h.Write(e.Cause[:])
	if u := e.Usage; u != nil {
		h.numbers(u.In, u.Out, u.CacheRead, u.CacheWrite, u.Reasoning, u.CostNano, uint64(u.Has))
	}
	for i := range e.Summary {
		it := &e.Summary[i]
		h.numbers(uint64(it.Key), uint64(it.Type), it.Num, uint64(len(it.List)))
		h.bytes(it.Text)
		for _, v := range it.List {
			h.bytes(v)
		}
	}
}

func flag(b bool) uint64 {
	if b {
		return 1
	}
	return 0
}
