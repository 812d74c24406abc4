package daemon

import (
	"strconv"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"sessionfold/wire"
	"sessionfold/worker"
)

var (
	storeDesc     = desc("store_up", "1 while the store takes writes and answers; 0 once it met a disk error.")
	lagTimeDesc   = desc("source_lag_seconds", "Age of the newest folded record while there are others behind it; 0 at the head.", "topic", "partition")
	gapsDesc      = desc("source_gaps", "Ranges of offsets that a source lacks.", "topic", "partition")
	gapOffsets    = desc("source_gap_offsets", "Offsets in these ranges.", "topic", "partition")
	restoredDesc  = desc("source_restored_records", "Changelog records read by the restore that goes on, or was last.", "topic", "partition")
	remainingDesc = desc("source_restore_remaining", "Changelog offsets that a restore has still to read.", "topic", "partition")
	signedDesc    = desc("source_signatures_total", "Signed records of a partition since its first offset, by what was made of them: verified, unknown_key (no enrolled key has the id), wrong_signature.", "topic", "partition", "verdict")
	restoringDesc = desc("source_restoring_seconds", "How long a restore has been going on; 0 when none is.", "topic", "partition")
)

// source sends what is known of one source beside its state and position.
func (c collector) source(ch chan<- prometheus.Metric, s *worker.SourceStatus) {
	now := time.Now
	if c.now != nil {
		now = c.now
	}
	topic, partition := s.Topic, strconv.Itoa(int(s.Partition))
	send := func(d *prometheus.Desc, v float64) {
		ch <- prometheus.MustNewConstMetric(d, prometheus.GaugeValue, v, topic, partition)
	}
	f := &s.Frontier
	lag := 0.0
	if s.High > s.Next && f.Time > 0 {
		lag = max(0, now().Sub(time.UnixMicro(int64(f.Time))).Seconds())
	}
	send(lagTimeDesc, lag)
	offsets := uint64(0)
	for _, g := range f.Gaps {
		offsets += g.To - g.From + 1
	}
	send(gapsDesc, float64(len(f.Gaps)))
	send(gapOffsets, float64(offsets))
	send(restoredDesc, float64(s.Restored))
	send(remainingDesc, float64(s.Remaining))
	took := 0.0
	if s.State == worker.Restoring && !s.Since.IsZero() {
		took = max(0, now().Sub(s.Since).Seconds())
	}
	send(restoringDesc, took)
	if s.State != worker.Active && f.Next == 0 {
		return // not known yet, rather than 0
	}
	for v, n := range map[wire.Verdict]uint64{
		wire.Verified: f.Signatures.Verified, wire.UnknownKey: f.Signatures.Unknown, wire.WrongSignature: f.Signatures.Wrong,
	} {
		ch <- prometheus.MustNewConstMetric(signedDesc, prometheus.CounterValue, float64(n), topic, partition, v.String())
	}
}
