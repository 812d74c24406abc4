package worker

import "time"

const (
	progressEvery = 3 * time.Second // between two lines of the log
	progressStep  = 1_024           // records between two looks at the clock
)

// progress tells of a restore while it goes on.
type progress struct {
	w     *Worker
	o     *owned
	first int64
	high  int64
	said  time.Time
}

func (w *Worker) progress(o *owned, first, high int64) *progress {
	p := &progress{w: w, o: o, first: first, high: high, said: time.Now()}
	w.set(o, func(s *SourceStatus) { s.Restored, s.Remaining = 0, uint64(max(high-first, 0)) })
	return p
}

// at notes that a record of the changelog was read.
func (p *progress) at(offset int64, records uint64) {
	if records%progressStep != 0 {
		return
	}
	left := uint64(max(p.high-offset-1, 0))
	p.w.set(p.o, func(s *SourceStatus) { s.Restored, s.Remaining = records, left })
	if time.Since(p.said) < progressEvery {
		return
	}
	p.said = time.Now()
	p.w.log.Info("a source is being restored", "source", p.o.tp.String(), "records", records, "changelog_offsets_left", left)
}

func (p *progress) end(records uint64) {
	p.w.set(p.o, func(s *SourceStatus) { s.Restored, s.Remaining = records, 0 })
}
