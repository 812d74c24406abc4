package worker

import (
	"fmt"
	"time"

	"sessionfold/fold"
	"sessionfold/index/row"
	"sessionfold/wire"
)

// restored is what a restore found.
type restored struct {
	o      *owned
	id     wire.Identity
	part   *Part
	before fold.Frontier // of the store, when the restore began
	holes  []row.Span
	held   wire.Held

	changelog uint64                     // generation of its topic
	prelude   func() (*row.Batch, error) // what is committed before the fold goes on; nil: nothing
	anew      *fold.Frontier             // where the fold begins when the prelude is a reset

	expect  int64
	records uint64 // read from the changelog
	mine    uint64 // of these, the source's own
	took    time.Duration
	err     error
}

// restore brings the store to where the source's changelog is, and makes the
// part that goes on from there. It runs beside the loop.
func (w *Worker) restore(o *owned) {
	begin := time.Now()
	r := &restored{o: o}
	r.err = w.restoreInto(r)
	r.took = time.Since(begin)
	w.mu.Lock()
	w.restored = append(w.restored, r)
	w.mu.Unlock()
	w.wake()
}

func (w *Worker) restoreInto(r *restored) error {
	ctx, tp := r.o.ctx, r.o.tp
	var err error
	if r.id, err = w.env.Identify(ctx, tp); err != nil {
		return err
	}
	src := r.id.Source
	if err := w.env.Prepare(ctx, r.id); err != nil {
		return err
	}
	c, err := w.env.Changelog(ctx, tp)
	if err != nil {
		return err
	}
	r.changelog = c.ID
	m, err := w.usable(ctx, src, &c)
	if err != nil {
		return err
	}
	if c.lost(&m) {
		if m, err = w.relost(r, m, &c); err != nil {
			return err
		}
	}
	r.before = m.Frontier
	if r.prelude == nil {
		if m, err = w.readChangelog(r, m, &c); err != nil {
			return err
		}
	}
	if err := w.asked(r, &m); err != nil {
		return err
	}
	if r.anew != nil {
		m.Frontier, m.Holes = *r.anew, nil
	}
	r.holes = m.Holes
	if err := w.holds(r, m.Frontier.Next); err != nil {
		return err
	}
	r.part = NewPart(PartConfig{
		Source: src, Fold: w.env.Fold(src.Stream), Memory: w.env.Memory,
		Load: w.env.Load, LoadState: w.env.LoadState, CacheSessions: w.cfg.CacheSessions,
	}, m.Frontier)
	r.part.Lose(r.held.End)
	if !r.part.HasGap() && r.held.High < m.Frontier.Next {
		return shrunk(r, m.Frontier.Next)
	}
	// What the brokers have dropped before it was folded is a gap, and the fold
	// goes on at the log start. A position below it would be refused for ever.
	r.part.Expire(r.id.LogStart, fold.GapExpiredBeforeFold)
	return nil
}

// readChangelog brings the store to the end of the changelog.
func (w *Worker) readChangelog(r *restored, m Meta, c *Changelog) (Meta, error) {
	tp, src := r.o.tp, r.id.Source
	select { // each holds some megabytes
	case w.reading <- struct{}{}:
		defer func() { <-w.reading }()
	case <-r.o.ctx.Done():
		return m, r.o.ctx.Err()
	}
	into := w.env.NewRestore(src, c.ID)
	p := w.progress(r.o, max(m.ChangelogNext, c.Start), c.High)
	var err error
	r.expect, err = w.env.ReadChangelog(r.o.ctx, tp, m.ChangelogNext, func(offset int64, key, value []byte) error {
		r.records++
		p.at(offset, r.records)
		mine, err := into.Put(key, value)
		if mine {
			r.mine++
		}
		return err
	})
	p.end(r.records)
	if err != nil {
		return m, err
	}
	// Everything that was read, and the position reached: never one without the
	// other.
	if err := into.Commit(r.expect); err != nil {
		return m, fmt.Errorf("worker: restore %s: %w", tp, err)
	}
	if m, _, err = w.env.Meta(src); err != nil {
		return m, fmt.Errorf("worker: restore %s: %w", tp, err)
	}
	if m.Frontier.Seq == 0 { // no step was ever committed
		return m, w.orphan(r, &m)
	}
	return m, nil
}

// startRestores starts what is queued and due. The loop calls it with no commit
// in flight.
func (w *Worker) startRestores(now time.Time) {
	w.mu.Lock()
	defer w.mu.Unlock()
	keep := w.queue[:0]
	for _, o := range w.queue {
		switch {
		case o.dead:
		case w.restoring[o.tp] || o.startAt.After(now):
			keep = append(keep, o)
		default:
			w.restoring[o.tp] = true
			w.restores.Add(1)
			go func() {
				defer w.restores.Done()
				w.restore(o)
			}()
		}
	}
	clear(w.queue[len(keep):])
	w.queue = keep
}

// takeRestored makes a restored source active, or tries again later.
func (w *Worker) takeRestored(r *restored) {
	o := r.o
	delete(w.restoring, o.tp)
	w.count(func(s *Stats) {
		s.RestoreSeconds += r.took.Seconds()
		s.RestoredRecords += r.records
		if r.err == nil {
			s.Restores++
		} else if !o.dead {
			s.RestoreFailures++
		}
	})
	if w.isDead(o) {
		return
	}
	if r.err != nil {
		o.tries++
		pause := max(backoff(o.tries), 100*time.Millisecond)
		w.log.Warn("source cannot be restored; it is tried again", "source", o.tp.String(), "tries", o.tries, "pause", pause, "err", r.err)
		w.again(o, r.err, pause)
		return
	}
	if was := o.status.Source; was != nil && was.Generation != r.id.Source.Generation {
		w.rediscover(o, r.id.Source)
		return
	}
	if o.former && w.forgetful(o, r.id.Source) {
		w.rediscover(o, r.id.Source)
		return
	}
	o.former = false
	next := r.part.Frontier().Next
	o.gaps = 0
	if r.part.Frontier().Lost {
		w.log.Error("the brokers have lost offsets that were folded; what was counted of them stays, and records that take their place are not folded", "source", o.tp.String(), "from", r.held.End, "to", next-r.part.Frontier().Skipped-1)
		o.gaps++
	}
	if skipped := r.part.Frontier().Skipped; skipped > 0 {
		w.log.Warn("offsets were gone before they could be folded; the fold goes on at the log start", "source", o.tp.String(), "log_start", next, "offsets", skipped)
		o.gaps++
	}
	o.part, o.uuid, o.expect, o.marker, o.epoch = r.part, r.id.TopicUUID, r.expect, false, r.held.Epoch
	if r.prelude != nil {
		o.prelude = &prelude{r: r}
		w.set(o, func(s *SourceStatus) { s.Source, s.Prelude = r.id.Source, true })
		return // the fold goes on behind it, see preludeDone
	}
	w.activate(o, r)
}

// activate lets the source be fetched from where the store stands.
func (w *Worker) activate(o *owned, r *restored) {
	next := r.part.Frontier().Next
	o.next = next
	w.set(o, func(s *SourceStatus) {
		s.Source, s.State, s.Since, s.Err, s.Prelude = r.id.Source, Active, time.Now(), "", false
		s.Next, s.High, s.LogStart = next-r.part.Frontier().Skipped, r.id.High, r.id.LogStart
		s.Frontier = r.part.Frontier()
	})
	w.log.Info("source is active", "source", o.tp.String(), "next", next, "changelog_records", r.records, "took", r.took.Round(time.Millisecond))
	if r.held.High < next {
		o.short = shrunk(r, next) // once the gap is committed it waits for the log to grow
	}
	if len(w.starting) == 0 {
		w.startBy = time.Now().Add(gather)
	}
	w.starting = append(w.starting, o)
	if gaps := r.part.Frontier().Gaps; len(r.holes) > 0 {
		w.restores.Add(1)
		go func() {
			defer w.restores.Done()
			w.rebuild(o, r.id.Source, r.holes, gaps, r.before)
		}()
	}
}

// gather is how long a restored source waits for others that are being restored:
// each start interrupts the fetches that are going on.
const gather = 20 * time.Millisecond

// fetchRestored starts the fetches of restored sources where the store stands: always,
// whatever position the group knows.
func (w *Worker) fetchRestored(now time.Time) {
	if len(w.starting) == 0 || len(w.restoring) > 0 && now.Before(w.startBy) {
		return
	}
	at := map[wire.TopicPartition]uint64{}
	for _, o := range w.starting {
		if !w.isDead(o) {
			at[o.tp] = o.next
		}
	}
	w.env.Seek(at)
	for _, o := range w.starting {
		if !w.isDead(o) && o.short == nil {
			w.env.Resume(o.tp)
		}
	}
	clear(w.starting)
	w.starting = w.starting[:0]
}

// everyTries is after how many tries a client that was made to forget a topic, and
// still asks for the one that is gone, is made to forget it again.
const everyTries = 8

// forgetful says whether the client is to forget a topic: it met the former one
// before the source was first restored, so nothing else tells that there was one.
func (w *Worker) forgetful(o *owned, now *wire.Source) bool {
	if w.renewed[o.tp.Topic] == now.Generation {
		if o.tries%everyTries != 0 {
			return false
		}
		delete(w.renewed, o.tp.Topic)
	}
	return true
}

// rediscover answers a topic that was deleted and created anew under a worker
// that runs. The client goes on asking for the old one, so it is made to forget
// it: the partitions are given up and assigned again, as those of the new one.
// What was folded of the old one stays readable.
func (w *Worker) rediscover(o *owned, now *wire.Source) {
	w.set(o, func(s *SourceStatus) {
		s.State, s.Err = Paused, "the topic was created anew; waiting for its assignment"
	})
	if w.renewed[o.tp.Topic] == now.Generation {
		return // with another of its partitions
	}
	w.log.Warn("a topic was created anew; its sources start from the beginning", "topic", o.tp.Topic)
	w.renewed[o.tp.Topic] = now.Generation
	w.env.Rediscover(o.tp.Topic)
}
