package daemon

import (
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"sessionfold/fold"
	"sessionfold/wire"
	"sessionfold/worker"
)

type fixed struct{}

func (fixed) Stats() worker.Stats {
	return worker.Stats{Records: 7, CommitFailures: map[string]uint64{"produce": 2}, Assigned: 3, LastCommit: time.Unix(100, 0)}
}

func (fixed) Sources() []worker.SourceStatus {
	return []worker.SourceStatus{
		{TopicPartition: wire.TopicPartition{Topic: "s.agent.sessions", Partition: 1}, State: worker.Active, Next: 40, High: 50, Frontier: fold.Frontier{Next: 40, Records: 38, Invalid: 2, LinksRefused: 5}},
		{TopicPartition: wire.TopicPartition{Topic: "s.agent.sessions", Partition: 2}, State: worker.Restoring, Next: 9},
	}
}

func TestMetrics(t *testing.T) {
	m := newMetrics(Build{Version: "v1", Go: "go1"})
	m.registry.MustRegister(collector{fixed{}})
	m.observe("GET /agdx/sessions/{stream}", 200, 3*time.Millisecond)
	w := httptest.NewRecorder()
	m.handler().ServeHTTP(w, httptest.NewRequest(http.MethodGet, "/metrics", nil))
	body := w.Body.String()
	for _, want := range []string{
		`folder_build_info{commit="",go="go1",version="v1"} 1`,
		"folder_records_total 7",
		`folder_commit_failures_total{where="produce"} 2`,
		`folder_rebalanced_partitions_total{event="assigned"} 3`,
		"folder_last_commit_timestamp_seconds 100",
		"folder_last_loop_timestamp_seconds 0",
		`folder_source_state{partition="2",state="restoring",topic="s.agent.sessions"} 1`,
		`folder_source_lag_records{partition="1",topic="s.agent.sessions"} 10`,
		`folder_http_request_duration_seconds_count{route="GET /agdx/sessions/{stream}",status="200"} 1`,
		`folder_source_records_total{kind="folded",partition="1",topic="s.agent.sessions"} 38`,
		`folder_source_records_total{kind="invalid",partition="1",topic="s.agent.sessions"} 2`,
		`folder_source_records_total{kind="link_refused",partition="1",topic="s.agent.sessions"} 5`,
		`folder_source_records_total{kind="unattributed",partition="1",topic="s.agent.sessions"} 0`,
		"go_goroutines",
	} {
		if !strings.Contains(body, want+"\n") && !strings.Contains(body, want+" ") {
			t.Errorf("metrics lack %q", want)
		}
	}
	// A partition whose head is not known has no lag, rather than none.
	if strings.Contains(body, `folder_source_lag_records{partition="2"`) {
		t.Error("a lag is shown for a partition whose head is not known")
	}
	if strings.Contains(body, `kind="folded",partition="2"`) {
		t.Error("counts are shown for a partition that is not restored yet")
	}
}
