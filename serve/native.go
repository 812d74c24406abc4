package serve

import (
	"errors"
	"net/http"

	"sessionfold/fold"
	"sessionfold/index"
	"sessionfold/wire"
)

// dialect is the dialect of a stream; of one that is told by its records, what
// they told. An error, or a stream that holds nothing yet, leaves it open.
func (h *handler) dialect(stream string) wire.Dialect {
	for i := range h.opt.Streams {
		s := &h.opt.Streams[i]
		if s.Name != stream {
			continue
		}
		if !s.Auto {
			return s.Dialect
		}
		return h.told(stream)
	}
	return wire.DialectAGDX
}

// learn asks the other workers for the dialect of a stream that is told by its
// records, where this worker has none of it. What it learns it keeps.
func (h *handler) learn(r *http.Request, stream string) error {
	s, err := h.grant(r, stream)
	if err != nil || !s.Auto || h.opt.Peers == nil || h.toldHere(stream) != nil {
		return nil // the read itself will say what is wrong
	}
	if _, known := h.learned.Load(stream); known {
		return nil
	}
	v, err := h.open(r.Context(), s)
	if err != nil {
		return err
	}
	var list []index.Meta
	if err = v.need(0); err == nil {
		list, err = v.snap.Sources(stream)
	}
	if err == nil && len(list) > 0 {
		h.learned.Store(stream, list[0].Source.Dialect)
	}
	return errors.Join(err, v.snap.Close())
}

// told is what the records of a stream told.
func (h *handler) told(stream string) wire.Dialect {
	if d := h.toldHere(stream); d != nil {
		return *d
	}
	if d, ok := h.learned.Load(stream); ok {
		return d.(wire.Dialect)
	}
	return wire.DialectAGDX
}

// toldHere is what the records that this worker has told; nil when it has none.
func (h *handler) toldHere(stream string) *wire.Dialect {
	snap, err := h.opt.Snapshot()
	if err != nil {
		return nil // the read itself will say so
	}
	defer snap.Close()
	list, err := snap.Sources(stream)
	if err != nil || len(list) == 0 {
		return nil
	}
	return &list[0].Source.Dialect
}

// id reads an id as people write it: its 26 characters, in a foreign dialect any
// spelling of the native id.
func (h *handler) id(r *http.Request, name, text string) (wire.ID, error) {
	stream := r.PathValue("stream")
	if err := h.learn(r, stream); err != nil {
		return wire.ID{}, err
	}
	if d := h.dialect(stream); d != wire.DialectAGDX {
		if text == "" {
			return wire.ID{}, invalid("%s: an id is not empty", name)
		}
		return wire.NativeID(d, stream, []byte(text)), nil
	}
	return parseID(name, text)
}

// httpAudit serves the audit snapshot of a DeepStrike session, in the shape of
// seed 002 or, with format=1, of seed 001.
func (h *handler) httpAudit(w http.ResponseWriter, r *http.Request) {
	p := newParams(r.URL.RawQuery, "format")
	q := &auditRead{id: h.pathID(p, r), format: 2}
	if f := p.text("format"); f != nil {
		switch *f {
		case "1":
			q.format = 1
		case "2":
		default:
			p.fail("format: %q, accepted are 1 and 2", *f)
		}
	}
	h.serve(w, r, r.PathValue("stream"), p, q)
}

// audits says that a stream is served whose sessions have audit snapshots.
func (h *handler) audits() bool {
	for i := range h.opt.Streams {
		if h.dialect(h.opt.Streams[i].Name) == wire.DialectDeepStrike {
			return true
		}
	}
	return false
}

// auditRead asks for an audit snapshot. It is a read of HTTP alone.
type auditRead struct {
	id     wire.ID
	format int
}

func (v *view) audit(q *auditRead) (any, error) {
	s, err := v.session(q.id, index.PartChunks)
	if err != nil {
		return nil, err
	}
	if d := s.Sources[0].Source.Dialect; d != wire.DialectDeepStrike {
		return nil, wire.Errorf(wire.ErrUnsupported, "audit: sessions of dialect %s have no audit snapshot; capabilities lists what is served", d)
	}
	var a *fold.Audit
	if k := s.AuditSource(); k != nil {
		if err := v.snap.Lists(s.ID, s.Sources); err != nil {
			return nil, err
		}
		a = k.Partial.Native.Audit
	}
	if q.format == 1 {
		return a.ViewV1(), nil
	}
	return a.View(), nil
}

// outcomesOf puts how children came out into their links.
func (v *view) outcomesOf(s *fold.Session, links []wire.SessionLink) error {
	if err := v.snap.Lists(s.ID, s.Sources); err != nil {
		return err
	}
	for i := range links {
		if links[i].Surface != wire.SurfaceChild.String() {
			continue
		}
		for j := range s.Sources {
			if n := s.Sources[j].Partial.Native; n != nil && links[i].Outcome == "" {
				links[i].Outcome = n.Outcome(links[i].Item)
			}
		}
	}
	return nil
}

// copied marks the rows that a fork has from its origin.
func copied(s *fold.Session, src *wire.Source, offset uint64, sum wire.Summary) {
	sequence, ok := sum[wire.SumSequence.String()].(uint64)
	if !ok {
		return
	}
	for i := range s.Sources {
		if k := &s.Sources[i]; k.Source.Key() == src.Key() && k.Copied(offset, sequence) {
			sum[wire.SumCopied.String()] = true
		}
	}
}
