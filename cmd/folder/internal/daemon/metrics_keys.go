package daemon

import (
	"github.com/prometheus/client_golang/prometheus"

	"sessionfold/cmd/folder/internal/keys"
)

// keyFiles tells of the keys files at each scrape.
type keyFiles map[string]*keys.File

var (
	keysDesc        = desc("keys", "Public keys in force.", "stream")
	keysLoadsDesc   = desc("keys_loads_total", "Contents of the keys file that were taken, the first one included.", "stream")
	keysFailureDesc = desc("keys_load_failures_total", "Contents of the keys file that could not be used.", "stream")
	keysStaleDesc   = desc("keys_file_failed", "1 while the keys file cannot be used and the keys of before are in force.", "stream")
)

// Describe sends nothing: the streams are not known before the first scrape.
func (k keyFiles) Describe(chan<- *prometheus.Desc) {}

// Collect sends everything as it is now.
func (k keyFiles) Collect(ch chan<- prometheus.Metric) {
	for stream, f := range k {
		s := f.Stats()
		failed := 0.0
		if s.Failed {
			failed = 1
		}
		ch <- prometheus.MustNewConstMetric(keysDesc, prometheus.GaugeValue, float64(s.Keys), stream)
		ch <- prometheus.MustNewConstMetric(keysLoadsDesc, prometheus.CounterValue, float64(s.Loads), stream)
		ch <- prometheus.MustNewConstMetric(keysFailureDesc, prometheus.CounterValue, float64(s.Failures), stream)
		ch <- prometheus.MustNewConstMetric(keysStaleDesc, prometheus.GaugeValue, failed, stream)
	}
}
