package serve

import (
	"bytes"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"net/http"
	"slices"

	"github.com/fxamacker/cbor/v2"

	"sessionfold/index"
	"sessionfold/index/row"
	"sessionfold/wire"
)

// peerFormat is the format of what workers say to each other: this protocol's
// and that of the rows. Workers of different formats do not answer each other.
const peerFormat = 2<<8 | uint(row.Version)

// Bounds of a request between workers.
const (
	maxPeerIDs   = 1000
	maxPeerBytes = 64 << 20 // of an answer
	maxPeerAsked = 1 << 20  // bytes of a request
)

// Holding is what a worker has of a stream.
type Holding struct {
	Sources   []*wire.Source        // that it owns and can answer for
	Restoring []wire.TopicPartition // that it owns and cannot answer for yet
}

// has says that it can answer for all of these partitions.
func (h *Holding) has(all []wire.TopicPartition) bool {
	have := map[wire.TopicPartition]bool{}
	for _, s := range h.Sources {
		have[partitionOf(s)] = true
	}
	for _, tp := range all {
		if !have[tp] {
			return false
		}
	}
	return true
}

func partitionOf(s *wire.Source) wire.TopicPartition {
	return wire.TopicPartition{Topic: s.Topic, Partition: int32(s.Partition)}
}

// heldPart is a source in an answer.
type heldPart struct {
	Topic      string
	Partition  int32
	Generation uint64
}

func (p heldPart) at() wire.TopicPartition {
	return wire.TopicPartition{Topic: p.Topic, Partition: p.Partition}
}

func (p heldPart) id(stream string) row.SourceID {
	return row.IDOf(wire.NewSource(stream, p.Topic, p.Generation, uint32(p.Partition), 0, 0))
}

// peerRequest asks a worker for rows of what it holds of a stream. Each worker
// answers from one snapshot.
type peerRequest struct {
	Format   uint
	Asker    [16]byte // the process that asks
	Stream   string
	IDs      []wire.ID // sessions, with these parts
	Parts    index.Parts
	Children int
	Events   *peerEvents // packed rows of the one session
	List     *peerList   // list entries
	Walk     []walkMark  // where the walk began; none: it begins
}

// peerEvents is a reading of a timeline, up to where the asker knows the sources.
type peerEvents struct {
	From     *wire.Address
	Back     bool
	Display  []string
	Collapse bool
	Bounds   []peerBound
	Limit    int
}

type peerBound struct {
	_      struct{} `cbor:",toarray"`
	Source wire.SourceKey
	Next   uint64
}

type peerList struct {
	Begun   bool
	Time    uint64
	Session wire.ID
	N       int
}

// peerReply is what a worker has. Rows are keys and values, each behind its
// length.
type peerReply struct {
	Format    uint
	Instance  [16]byte
	Same      bool // it is the asker
	Store     [8]byte
	Seq       uint64
	Stale     bool // the walk began on another state of the store
	Held      []heldPart
	Restoring []wire.TopicPartition
	More      bool // list entries follow those of the answer, whose last is:
	Time      uint64
	Session   wire.ID
	Rows      []byte
}

// walkMark is the state of a worker's store when a walk of the list began.
type walkMark struct {
	Store [8]byte
	Seq   uint64
}

// storeTag names a store and its walks.
func storeTag(i row.Identity) [8]byte {
	b := binding("store", string(row.AppendIdentity(nil, i)))
	return b
}

// httpPeer answers another worker. It shows what the reads of the stream show,
// so whoever may read the stream may ask.
func (h *handler) httpPeer(w http.ResponseWriter, r *http.Request) {
	b, err := h.peer(w, r)
	if err != nil {
		h.fail(w, r, err)
		return
	}
	write(w, http.StatusOK, typeCBOR, b)
}

func (h *handler) peer(w http.ResponseWriter, r *http.Request) ([]byte, error) {
	if _, err := h.opt.Tokens.authenticate(r); err != nil {
		return nil, err
	}
	b, err := io.ReadAll(http.MaxBytesReader(w, r.Body, maxPeerAsked))
	if err != nil {
		return nil, invalid("the request body ended early, or is larger than %d bytes", maxPeerAsked)
	}
	var q peerRequest
	if err := cbor.Unmarshal(b, &q); err != nil {
		return nil, invalid("the request is not one of another worker")
	}
	if _, err := h.grant(r, q.Stream); err != nil {
		return nil, err
	}
	if err := q.check(); err != nil {
		return nil, err
	}
	if q.Asker == h.instance {
		return cbor.Marshal(&peerReply{Format: peerFormat, Instance: h.instance, Same: true})
	}
	out, err := h.share(r.Context(), &q)
	if err != nil {
		return nil, err
	}
	return cbor.Marshal(out)
}

func (q *peerRequest) check() error {
	switch {
	case q.Format != peerFormat:
		return wire.Errorf(wire.ErrUnavailable, "this worker speaks format %#x with others, not %#x: they have different versions", peerFormat, q.Format)
	case len(q.IDs) > maxPeerIDs || q.Events != nil && len(q.IDs) != 1:
		return invalid("ids: %d, at most %d, and one for events", len(q.IDs), maxPeerIDs)
	case q.List != nil && (q.List.N < 1 || q.List.N > maxPeerIDs):
		return invalid("list: %d positions, accepted are 1 to %d", q.List.N, maxPeerIDs)
	case q.Events != nil && (q.Events.Limit < 1 || q.Events.Limit > MaxLimit):
		return invalid("events: limit %d, accepted are 1 to %d", q.Events.Limit, MaxLimit)
	}
	return nil
}

// errMoved is the answer when sources came or went while a read was going on.
var errMoved = wire.Errorf(wire.ErrUnavailable, "partitions of the stream moved between workers while it was read; try again")

// share answers a request from what this worker holds.
func (h *handler) share(ctx context.Context, q *peerRequest) (*peerReply, error) {
	hold := h.opt.Holding(q.Stream)
	snap, err := h.snapshot()
	if err != nil {
		return nil, err
	}
	out := &peerReply{Format: peerFormat, Instance: h.instance, Store: storeTag(snap.Identity()), Seq: snap.Seq(), Restoring: hold.Restoring}
	err = h.fill(ctx, snap, &hold, q, out)
	if err = errors.Join(err, snap.Close()); err != nil {
		return nil, err
	}
	// What was taken away meanwhile may have been half removed when it was read.
	if again := h.opt.Holding(q.Stream); !slices.Equal(out.Held, heldOf(&again)) {
		return nil, errMoved
	}
	return out, nil
}

// fill puts in what the snapshot has of the sources that this worker holds.
func (h *handler) fill(ctx context.Context, snap *index.Reader, hold *Holding, q *peerRequest, out *peerReply) error {
	out.Held = heldOf(hold)
	o := &index.Share{Sources: map[wire.SourceKey]bool{}, Parts: q.Parts, Children: q.Children, Seq: out.Seq}
	for _, s := range hold.Sources {
		o.Sources[s.Key()] = true
	}
	if q.Walk != nil && len(hold.Sources) > 0 {
		i := slices.IndexFunc(q.Walk, func(m walkMark) bool { return m.Store == out.Store })
		if i < 0 || q.Walk[i].Seq > out.Seq {
			out.Stale = true
			return nil
		}
		o.Seq, out.Seq = q.Walk[i].Seq, q.Walk[i].Seq
	}
	put := func(key, value []byte) error {
		if len(out.Rows)+len(key)+len(value) > maxPeerBytes {
			return tooLarge("what this worker holds of the answer is larger than %d bytes; ask for less", maxPeerBytes)
		}
		out.Rows = appendRow(out.Rows, key, value)
		return ctx.Err()
	}
	if err := snap.Metas(q.Stream, o.Sources, put); err != nil {
		return err
	}
	for _, id := range q.IDs {
		if err := snap.Share(q.Stream, id, o, put); err != nil {
			return err
		}
	}
	if e := q.Events; e != nil {
		rd, err := readingOf(e.From, e.Back, e.Display, e.Collapse)
		if err != nil {
			return err
		}
		bounds := make(index.Bounds, len(e.Bounds))
		for _, b := range e.Bounds {
			bounds[b.Source] = b.Next
		}
		if err := snap.ShareEvents(q.Stream, q.IDs[0], o, rd, bounds, e.Limit, put); err != nil {
			return err
		}
	}
	if l := q.List; l != nil {
		last, more, err := snap.ShareList(q.Stream, index.Cursor{Begun: l.Begun, Time: l.Time, Session: l.Session}, o, l.N, put)
		if err != nil {
			return err
		}
		out.More, out.Time, out.Session = more, last.Time, last.Session
	}
	return nil
}

func heldOf(h *Holding) []heldPart {
	out := make([]heldPart, len(h.Sources))
	for i, s := range h.Sources {
		out[i] = heldPart{s.Topic, int32(s.Partition), s.Generation}
	}
	slices.SortFunc(out, func(a, b heldPart) int { return bytes.Compare(fmt.Append(nil, a), fmt.Append(nil, b)) })
	return out
}

func appendRow(b, key, value []byte) []byte {
	b = append(binary.AppendUvarint(b, uint64(len(key))), key...)
	return append(binary.AppendUvarint(b, uint64(len(value))), value...)
}

var errRows = errors.New("its rows cannot be read")

// rows calls f with the rows of an answer.
func rows(b []byte, f func(key, value []byte) error) error {
	take := func() []byte {
		n, size := binary.Uvarint(b)
		if size <= 0 || n > uint64(len(b)-size) {
			b = nil
			return nil
		}
		v := b[size : size+int(n)]
		b = b[size+int(n):]
		return v
	}
	for len(b) > 0 {
		key := take()
		if len(b) == 0 {
			return errRows
		}
		value := take()
		if key == nil || value == nil {
			return errRows
		}
		if err := f(key, value); err != nil {
			return err
		}
	}
	return nil
}
