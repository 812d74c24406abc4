package daemon

import (
	"net/http"
	"strconv"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/collectors"
	"github.com/prometheus/client_golang/prometheus/promhttp"

	"sessionfold/source"
	"sessionfold/worker"
)

// metrics are what /metrics shows. Counters are the parts' own; this only
// names them. No label ever holds an id.
type metrics struct {
	registry    *prometheus.Registry
	conventions *prometheus.Registry // those with OpenTelemetry's names, which package telemetry makes
	requests    *prometheus.HistogramVec
}

// Build is what the program says of itself.
type Build struct {
	Version string `json:"version"`
	Commit  string `json:"commit,omitempty"`
	Go      string `json:"go"`
}

func newMetrics(b Build) *metrics {
	m := &metrics{registry: prometheus.NewRegistry(), conventions: prometheus.NewRegistry(), requests: prometheus.NewHistogramVec(prometheus.HistogramOpts{
		Name: "folder_http_request_duration_seconds", Help: "Time to answer a read, by route pattern and status code.",
		Buckets: []float64{.001, .005, .01, .025, .05, .1, .25, .5, 1, 2.5, 5, 10},
	}, []string{"route", "status"})}
	info := prometheus.NewGauge(prometheus.GaugeOpts{
		Name: "folder_build_info", Help: "1, labelled with the version.",
		ConstLabels: prometheus.Labels{"version": b.Version, "commit": b.Commit, "go": b.Go},
	})
	info.Set(1)
	m.registry.MustRegister(m.requests, info, collectors.NewGoCollector(), collectors.NewProcessCollector(collectors.ProcessCollectorOpts{}))
	return m
}

func (m *metrics) observe(route string, status int, took time.Duration) {
	m.requests.WithLabelValues(route, strconv.Itoa(status)).Observe(took.Seconds())
}

func (m *metrics) handler() http.Handler {
	return promhttp.HandlerFor(prometheus.Gatherers{m.registry, m.conventions}, promhttp.HandlerOpts{Registry: m.registry})
}

// subject is what the collector asks.
type subject interface {
	Stats() worker.Stats
	Sources() []worker.SourceStatus
}

// collector reads the worker's counters at each scrape.
type collector struct {
	of    subject
	store func() error     // nil error: the store works
	now   func() time.Time // nil: time.Now
}

type single struct {
	desc *prometheus.Desc
	kind prometheus.ValueType
	get  func(*worker.Stats) float64
}

func desc(name, help string, labels ...string) *prometheus.Desc {
	return prometheus.NewDesc("folder_"+name, help, labels, nil)
}

func counter(name, help string, get func(*worker.Stats) float64) single {
	return single{desc(name, help), prometheus.CounterValue, get}
}

func gauge(name, help string, get func(*worker.Stats) float64) single {
	return single{desc(name, help), prometheus.GaugeValue, get}
}

var singles = []single{
	counter("records_total", "Records folded and committed.", func(s *worker.Stats) float64 { return float64(s.Records) }),
	counter("record_bytes_total", "Bytes of keys and values of those records.", func(s *worker.Stats) float64 { return float64(s.Bytes) }),
	counter("commits_total", "Transactions committed.", func(s *worker.Stats) float64 { return float64(s.Commits) }),
	counter("commit_seconds_total", "Time spent in transactions.", func(s *worker.Stats) float64 { return s.CommitSeconds }),
	counter("fold_seconds_total", "Time spent folding.", func(s *worker.Stats) float64 { return s.FoldSeconds }),
	counter("apply_seconds_total", "Time spent writing committed steps to the store.", func(s *worker.Stats) float64 { return s.ApplySeconds }),
	counter("restores_total", "Restores of a source from its changelog.", func(s *worker.Stats) float64 { return float64(s.Restores) }),
	counter("restore_failures_total", "Restores that failed and were tried again.", func(s *worker.Stats) float64 { return float64(s.RestoreFailures) }),
	counter("restored_records_total", "Changelog records read by restores.", func(s *worker.Stats) float64 { return float64(s.RestoredRecords) }),
	counter("restore_seconds_total", "Time spent in restores.", func(s *worker.Stats) float64 { return s.RestoreSeconds }),
	counter("rejoins_total", "Sources restored because the group membership changed silently.", func(s *worker.Stats) float64 { return float64(s.Rejoined) }),
	counter("gaps_total", "Gaps noted: offsets that the brokers no longer had.", func(s *worker.Stats) float64 { return float64(s.Gaps) }),
	counter("poll_errors_total", "Errors of polls.", func(s *worker.Stats) float64 { return float64(s.PollErrors) }),
	counter("producer_starts_total", "Transactional producers made.", func(s *worker.Stats) float64 { return float64(s.ProducerRuns) }),
	counter("sources_begun_anew_total", "Sources whose fold was begun anew, asked for or because their changelog was lost.", func(s *worker.Stats) float64 { return float64(s.Begun) }),
	counter("changelogs_healed_total", "Changelogs that were lost and written again from the store.", func(s *worker.Stats) float64 { return float64(s.Healed) }),
	counter("rebuilt_records_total", "Records folded again for their timeline rows.", func(s *worker.Stats) float64 { return float64(s.RebuiltRecords) }),
	gauge("buffered_records", "Records polled and not folded yet.", func(s *worker.Stats) float64 { return float64(s.Buffered) }),
	gauge("last_commit_timestamp_seconds", "When the last transaction was committed; 0 before the first.", func(s *worker.Stats) float64 { return seconds(s.LastCommit) }),
	gauge("last_loop_timestamp_seconds", "When the loop last came round; 0 before the first.", func(s *worker.Stats) float64 { return seconds(s.LastLoop) }),
}

var (
	failuresDesc   = desc("commit_failures_total", "Transactions that were not committed, by the point of failure.", "where")
	rebalancesDesc = desc("rebalanced_partitions_total", "Partitions assigned, revoked and lost.", "event")
	stateDesc      = desc("source_state", "1 for the state a partition of this worker is in.", "topic", "partition", "state")
	lagDesc        = desc("source_lag_records", "Offsets between the next one to fold and the high watermark.", "topic", "partition")
	countedDesc    = desc("source_records_total", "Records of a partition since its first offset, by what was made of them: folded (all but heartbeats), and of these undecodable, invalid, unattributed, link_refused (links to a session of another stream).", "topic", "partition", "kind")
	nextDesc       = desc("source_next_offset", "Next offset to fold, of what is committed.", "topic", "partition")
)

// Describe sends nothing: which series exist depends on the assignment.
func (c collector) Describe(chan<- *prometheus.Desc) {}

// Collect sends everything as it is now.
func (c collector) Collect(ch chan<- prometheus.Metric) {
	s := c.of.Stats()
	for _, m := range singles {
		ch <- prometheus.MustNewConstMetric(m.desc, m.kind, m.get(&s))
	}
	for where, n := range s.CommitFailures {
		ch <- prometheus.MustNewConstMetric(failuresDesc, prometheus.CounterValue, float64(n), where)
	}
	for event, n := range map[string]uint64{"assigned": s.Assigned, "revoked": s.Revoked, "lost": s.Lost} {
		ch <- prometheus.MustNewConstMetric(rebalancesDesc, prometheus.CounterValue, float64(n), event)
	}
	up := 1.0
	if c.store != nil && c.store() != nil {
		up = 0
	}
	ch <- prometheus.MustNewConstMetric(storeDesc, prometheus.GaugeValue, up)
	for _, src := range c.of.Sources() {
		c.source(ch, &src)
		topic, partition := src.Topic, strconv.Itoa(int(src.Partition))
		ch <- prometheus.MustNewConstMetric(stateDesc, prometheus.GaugeValue, 1, topic, partition, src.State.String())
		ch <- prometheus.MustNewConstMetric(nextDesc, prometheus.GaugeValue, float64(src.Next), topic, partition)
		if src.High >= src.Next {
			ch <- prometheus.MustNewConstMetric(lagDesc, prometheus.GaugeValue, float64(src.High-src.Next), topic, partition)
		}
		f := &src.Frontier
		if src.State != worker.Active && f.Next == 0 {
			continue // not known yet, rather than 0
		}
		for kind, n := range map[string]uint64{
			"folded": f.Records, "undecodable": f.Undecodable, "invalid": f.Invalid, "unattributed": f.Unattributed, "link_refused": f.LinksRefused,
		} {
			ch <- prometheus.MustNewConstMetric(countedDesc, prometheus.CounterValue, float64(n), topic, partition, kind)
		}
	}
}

// heartbeats reads the counters of the heartbeat tail at each scrape.
type heartbeats struct{ of *source.Heartbeats }

var (
	beatsDesc   = desc("heartbeats_total", "Heartbeats read, by what was made of them: used, bad or of a foreign stream.", "stream", "kind")
	heldDesc    = desc("heartbeat_sessions", "Sessions that a heartbeat named within the last day.", "stream")
	beatsUpDesc = desc("heartbeat_tail_known", "1 when the tail has reached the heads it saw at its start, so that silence means something.", "stream")
)

// Describe sends nothing: the streams are not known before the first scrape.
func (h heartbeats) Describe(chan<- *prometheus.Desc) {}

// Collect sends everything as it is now.
func (h heartbeats) Collect(ch chan<- prometheus.Metric) {
	streams, _ := h.of.Stats() // the tail's trouble shows as not known
	for stream, s := range streams {
		for kind, n := range map[string]uint64{"used": s.Records - s.Bad - s.Foreign, "bad": s.Bad, "foreign": s.Foreign} {
			ch <- prometheus.MustNewConstMetric(beatsDesc, prometheus.CounterValue, float64(n), stream, kind)
		}
		known := 0.0
		if s.Known {
			known = 1
		}
		ch <- prometheus.MustNewConstMetric(heldDesc, prometheus.GaugeValue, float64(s.Sessions), stream)
		ch <- prometheus.MustNewConstMetric(beatsUpDesc, prometheus.GaugeValue, known, stream)
	}
}

func seconds(t time.Time) float64 {
	if t.IsZero() {
		return 0
	}
	return float64(t.UnixMilli()) / 1000
}
