package worker

import (
	"context"
	"time"

	"sessionfold/wire"
)

const (
	longestPoll = 250 * time.Millisecond // so that the loop is seen to come round
	onePoll     = 2 * foldAt             // records, so that the fold begins early
	ahead       = 6 * foldAt             // records that are held: the client asks for more only when what it fetched is taken
)

// room is how many records may be polled now: what is not folded yet is at most
// one batch, and never more than keeps both the fold and the client busy.
func (w *Worker) room() int {
	held, bytes := w.buffered, w.bufferedBytes
	if w.folding != nil {
		held, bytes = held+w.folding.records, bytes+w.folding.bytes
	}
	if bytes >= w.cfg.BatchBytes {
		return 0
	}
	return min(onePoll, min(w.cfg.BatchRecords, ahead)-held)
}

// poll waits for records, but not when there is no room for them.
func (w *Worker) poll(ctx context.Context, now time.Time) error {
	wait := longestPoll
	if w.flight == nil && w.folding == nil && (w.ready != nil || w.buffered > 0) {
		// Only the cadence is waited for; the end of a fold or a commit wakes.
		wait = max(w.launched.Add(w.cfg.BatchInterval).Sub(now), 0)
	}
	if len(w.starting) > 0 {
		wait = min(wait, max(w.startBy.Sub(now), 0))
	}
	w.mu.Lock()
	for _, o := range w.queue { // restores whose pause ends sooner
		if until := o.startAt.Sub(now); until > 0 {
			wait = min(wait, until)
		}
	}
	pctx, cancel := context.WithTimeout(ctx, wait)
	defer cancel()
	w.pollStop = cancel
	w.mu.Unlock()
	if w.woken.Swap(false) {
		cancel()
	}
	room := w.room()
	if room <= 0 {
		<-pctx.Done() // a fold is going on, or a commit is in flight and a batch is ready behind it
		return nil
	}
	fetched, notes, err := w.env.Poll(pctx, room)
	if err != nil {
		return err
	}
	for _, n := range notes {
		w.count(func(s *Stats) { s.PollErrors++ })
		w.log.Warn("the group's client reports a problem that it works on", "err", n)
	}
	for i := range fetched {
		if f := &fetched[i]; !w.take(f) && f.Release != nil {
			f.Release()
		}
	}
	return nil
}

// take puts what was fetched into its source's buffer, or says that it has no
// use for it.
func (w *Worker) take(f *wire.Fetched) bool {
	w.mu.Lock()
	o := w.owned[f.TopicPartition]
	if o != nil && f.Err == nil {
		o.status.High = max(o.status.High, uint64(max(f.High, 0)))
		o.status.LogStart = max(o.status.LogStart, uint64(max(f.LogStart, 0)))
	}
	w.mu.Unlock()
	if o == nil {
		return false // given up meanwhile
	}
	if f.Err != nil {
		w.count(func(s *Stats) { s.PollErrors++ })
		w.env.Pause(o.tp) // an error may come back at every poll
		if o.part != nil && o.trouble == nil {
			o.trouble, o.former = f.Err, f.Former
		}
		return false
	}
	if o.part == nil || o.trouble != nil || o.waiting() {
		return false // not restored yet: it seeks then
	}
	recs := f.Records
	for len(recs) > 0 && recs[0].Offset < o.next {
		recs = recs[1:]
	}
	if len(recs) == 0 {
		return false
	}
	o.next = recs[len(recs)-1].Offset + 1
	if len(o.buffer.raw) == 0 {
		o.buffer.since = time.Now()
	}
	o.buffer.raw = append(o.buffer.raw, recs...)
	o.buffer.bytes += f.Bytes
	o.buffer.epoch = f.Epoch
	if f.Release != nil {
		o.buffer.release = append(o.buffer.release, f.Release)
	}
	w.buffered += len(recs)
	w.bufferedBytes += f.Bytes
	return true
}

// wake ends the poll that is going on, or the next one at once.
func (w *Worker) wake() {
	w.woken.Store(true)
	w.mu.Lock()
	if w.pollStop != nil {
		w.pollStop()
	}
	w.mu.Unlock()
}
