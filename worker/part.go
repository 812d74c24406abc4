package worker

import (
	"fmt"

	"sessionfold/fold"
	"sessionfold/fold/state"
	"sessionfold/index/row"
	"sessionfold/wire"
)

// PartConfig is what a Part needs of the world.
type PartConfig struct {
	Source *wire.Source
	Fold   *fold.Config
	Memory *Memory // may be shared
	// Load gives the stored partials of the ids; an id that is absent was never seen.
	Load func(src *wire.Source, ids []wire.ID) (map[wire.ID]*fold.Partial, error)
	// CacheSessions bounds the partials kept decoded between batches; 0 is DefaultCacheSessions.
	CacheSessions int

	// LoadState gives the stored state document of a session; nil when the store
	// has none of it. It may be as old as the last step that was Applied.
	LoadState func(src *wire.Source, id wire.ID) (*state.State, error)
	// CacheDocuments bounds the bytes of state documents kept between batches;
	// 0 is DefaultCacheDocuments.
	CacheDocuments int
	// RowsOnly folds for timeline rows alone: state documents are left out.
	RowsOnly bool
}

// DefaultCacheSessions is the number of partials a part keeps decoded.
const DefaultCacheSessions = 16_384

// Part is one source between restore and loss: its frontier, and the partials
// that later batches are likely to need again. It may fold ahead of the store:
// partials of steps that are not applied yet are held until Applied says so. A
// part whose step failed to commit is dropped whole, and a new one made from
// what restore finds. Not safe for use by two goroutines at once.
type Part struct {
	cfg      PartConfig
	frontier fold.Frontier
	pending  []map[wire.ID]*fold.Partial // folded, not yet in the store; oldest first
	cache    cache
	*place   // while it folds

	stateful      bool // the batch at hand has state records
	documents     documents
	folding       map[wire.ID][]stateStep   // of the batch at hand
	pendingStates []map[wire.ID][]stateStep // beside pending
}

// NewPart starts from a frontier that the store holds.
func NewPart(cfg PartConfig, f fold.Frontier) *Part {
	if cfg.CacheSessions <= 0 {
		cfg.CacheSessions = DefaultCacheSessions
	}
	if cfg.CacheDocuments <= 0 {
		cfg.CacheDocuments = DefaultCacheDocuments
	}
	return &Part{
		cfg: cfg, frontier: f, documents: documents{limit: cfg.CacheDocuments},
		cache: cache{limit: cfg.CacheSessions},
	}
}

// Source is the part's source.
func (p *Part) Source() *wire.Source { return p.cfg.Source }

// Frontier is how far the part has folded, applied or not.
func (p *Part) Frontier() fold.Frontier { return p.frontier }

// Expire notes that the offsets below logStart are gone: the next step carries
// the gap. It does nothing when they were folded already.
func (p *Part) Expire(logStart uint64, reason fold.GapReason) {
	if logStart > p.frontier.Next {
		p.frontier = p.frontier.Expire(logStart, reason)
	}
}

// Fold turns a batch into an encoded step on top of everything folded so far.
// Offsets ascend and start at or above the frontier. No records gives a step
// that carries the frontier alone, for gaps. The error is the store's; the part is
// then of no more use.
func (p *Part) Fold(raw []wire.Raw) (*row.Batch, error) {
	p.place = p.cfg.Memory.take(p.cfg.Source)
	defer func() {
		p.cfg.Memory.give(p.cfg.Source, p.place)
		p.place = nil
	}()
	recs := p.decoder.Decode(p.cfg.Source, raw)
	if len(recs) != len(raw) {
		panic(fmt.Sprintf("worker: %s: %d records decoded from %d", p.cfg.Source, len(recs), len(raw)))
	}
	if p.cfg.RowsOnly {
		dropStates(recs)
	}
	if err := p.load(recs); err != nil {
		return nil, fmt.Errorf("worker: %s: load the partials of offsets from %d: %w", p.cfg.Source, p.frontier.Next, err)
	}
	changed := make(map[wire.ID]*fold.Partial, len(p.batch))
	var out *row.Batch
	for front := p.frontier; out == nil || len(recs) > 0; {
		n := p.run(recs)
		states, err := p.states(recs[:n])
		if err != nil {
			p.folding = nil
			return nil, fmt.Errorf("worker: %s: load the state documents of offsets from %d: %w", p.cfg.Source, front.Next, err)
		}
		step := p.fold.Apply(p.cfg.Fold, p.cfg.Source, front, p.batch, states, recs[:n])
		for i := range step.Sessions {
			changed[step.Sessions[i].ID] = step.Sessions[i].New
			if n < len(recs) {
				p.batch[step.Sessions[i].ID] = step.Sessions[i].New
			}
		}
		p.keepStates(step)
		if b := row.EncodeInto(step, p.cfg.Memory.lend); out == nil {
			out = b
		} else {
			out.Append(b)
		}
		front, recs = step.Frontier, recs[n:]
	}
	p.pending = append(p.pending, changed)
	p.pendingStates = append(p.pendingStates, p.folding)
	p.folding = nil
	p.frontier = out.Frontier
	return out, nil
}

// Applied says that the oldest step not yet applied is in the store now.
func (p *Part) Applied() {
	p.cache.addAll(p.pending[0])
	p.pending = append(p.pending[:0], p.pending[1:]...)
	p.pendingStates = append(p.pendingStates[:0], p.pendingStates[1:]...)
}

// load fills p.batch with the partials that the records name: of their own
// sessions and of those they link resources to.
func (p *Part) load(recs []wire.Record) error {
	p.stateful = false
	var last wire.ID
	any := false
	for i := range recs {
		r := &recs[i]
		if r.Rare != nil {
			p.stateful = p.stateful || r.Rare.State != nil
			for _, l := range r.Rare.Links {
				p.want(l.Session)
			}
		}
		if !r.HasSession || (any && r.Session == last) {
			continue // runs of one session are common
		}
		last, any = r.Session, true
		p.want(last)
	}
	if len(p.missing) == 0 {
		return nil
	}
	loaded, err := p.cfg.Load(p.cfg.Source, p.missing)
	if err != nil {
		return err
	}
	for _, id := range p.missing {
		if partial := loaded[id]; partial != nil {
			p.batch[id] = partial
		} else {
			delete(p.batch, id)
		}
	}
	return nil
}

// want notes a session that the batch names.
func (p *Part) want(id wire.ID) {
	if _, ok := p.batch[id]; ok {
		return
	}
	known := p.known(id)
	p.batch[id] = known // nil: to be loaded; noted so that it is asked for once
	if known == nil {
		p.missing = append(p.missing, id)
	}
}

func (p *Part) known(id wire.ID) *fold.Partial {
	for i := len(p.pending) - 1; i >= 0; i-- {
		if partial := p.pending[i][id]; partial != nil {
			return partial
		}
	}
	return p.cache.get(id)
}

// cache keeps the most recent partials in two generations: when the young one
// is full it becomes the old one, and what was old and not asked for goes. It
// costs one map operation where a list would cost pointers.
type cache struct {
	limit      int
	young, old map[wire.ID]*fold.Partial
}

func (c *cache) get(id wire.ID) *fold.Partial {
	if p := c.young[id]; p != nil {
		return p
	}
	return c.old[id]
}

func (c *cache) addAll(m map[wire.ID]*fold.Partial) {
	half := c.limit / 2
	if len(c.young)+len(m) > half && len(c.young) > 0 {
		c.old, c.young = c.young, nil
	}
	if len(c.young) == 0 && len(m) <= half {
		c.young = m
		return
	}
	if c.young == nil {
		c.young = make(map[wire.ID]*fold.Partial, half)
	}
	for id, p := range m {
		if _, ok := c.young[id]; ok || len(c.young) < half {
			c.young[id] = p
		} else {
			// No room: the store has it. What the old generation still holds
			// of this session is out of date and must not answer for it.
			delete(c.old, id)
		}
	}
}
