package worker

import (
	"context"
	"time"

	"sessionfold/wire"
)

const (
	longestPoll = 250 * time.Millisecond // so that the loop is seen to come round
	onePoll     = 20_000                 // records, so that a batch is not overshot by much
)

// poll waits for records, but not when there is no room for them.
func (w *Worker) poll(ctx context.Context, now time.Time) error {
	wait := longestPoll
	if w.buffered > 0 && w.ready == nil {
		wait = max(w.since.Add(w.cfg.BatchInterval).Sub(now), 0)
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
	if w.buffered >= w.cfg.BatchRecords || w.bufferedBytes >= w.cfg.BatchBytes {
		<-pctx.Done() // a commit is in flight and a batch is ready behind it
		return nil
	}
	fetched, notes, err := w.env.Poll(pctx, min(onePoll, w.cfg.BatchRecords-w.buffered))
	if err != nil {
		return err
	}
	for _, n := range notes {
		w.count(func(s *Stats) { s.PollErrors++ })
		w.log.Warn("the group's client reports a problem that it works on", "err", n)
	}
	for i := range fetched {
		w.take(&fetched[i])
	}
	return nil
}

// take puts what was fetched into its source's buffer.
func (w *Worker) take(f *wire.Fetched) {
	w.mu.Lock()
	o := w.owned[f.TopicPartition]
	if o != nil && f.Err == nil {
		o.status.High = max(o.status.High, uint64(max(f.High, 0)))
		o.status.LogStart = max(o.status.LogStart, uint64(max(f.LogStart, 0)))
	}
	w.mu.Unlock()
	if o == nil {
		return // given up meanwhile
	}
	if f.Err != nil {
		w.count(func(s *Stats) { s.PollErrors++ })
		w.env.Pause(o.tp) // an error may come back at every poll
		if o.part != nil && o.trouble == nil {
			o.trouble = f.Err
		}
		return
	}
	if o.part == nil || o.trouble != nil || o.waiting() {
		return // not restored yet: it seeks then
	}
	next := o.part.Frontier().Next
	if n := len(o.buffer.raw); n > 0 {
		next = o.buffer.raw[n-1].Offset + 1
	}
	recs := f.Records
	for len(recs) > 0 && recs[0].Offset < next {
		recs = recs[1:]
	}
	if len(recs) == 0 {
		return
	}
	if w.buffered == 0 {
		w.since = time.Now()
	}
	o.buffer.raw = append(o.buffer.raw, recs...)
	o.buffer.bytes += f.Bytes
	o.buffer.epoch = f.Epoch
	w.buffered += len(recs)
	w.bufferedBytes += f.Bytes
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
