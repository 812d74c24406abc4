package daemon

import (
	"errors"
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
	return worker.Stats{Records: 7, CommitFailures: map[string]uint64{"produce": 2}, Assigned: 3, Begun: 8, Healed: 9, LastCommit: time.Unix(100, 0)}
}

func (fixed) Sources() []worker.SourceStatus {
	return []worker.SourceStatus{
		{TopicPartition: wire.TopicPartition{Topic: "s.agent.sessions", Partition: 1}, State: worker.Active, Next: 40, High: 50, Restored: 3, Frontier: fold.Frontier{Next: 40, Time: 1_990_000_000, Gaps: []fold.Gap{{From: 0, To: 6, Reason: fold.GapExpiredBeforeFold}}, Records: 38, Invalid: 2, LinksRefused: 5,
			Signatures: fold.Signatures{Verified: 4, Unknown: 3, Wrong: 2}}},
		{TopicPartition: wire.TopicPartition{Topic: "s.agent.sessions", Partition: 2}, State: worker.Restoring, Next: 9, Remaining: 77, Since: time.Unix(1995, 0)},
	}
}

func TestMetrics(t *testing.T) {
	m := newMetrics(Build{Version: "v1", Go: "go1"})
	m.registry.MustRegister(collector{of: fixed{}, store: func() error { return errors.New("disk") }, now: func() time.Time { return time.Unix(2000, 0) }})
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
		"folder_store_up 0",
		`folder_source_lag_seconds{partition="1",topic="s.agent.sessions"} 10`,
		`folder_source_gaps{partition="1",topic="s.agent.sessions"} 1`,
		`folder_source_gap_offsets{partition="1",topic="s.agent.sessions"} 7`,
		`folder_source_restored_records{partition="1",topic="s.agent.sessions"} 3`,
		`folder_source_restore_remaining{partition="2",topic="s.agent.sessions"} 77`,
		`folder_source_restoring_seconds{partition="2",topic="s.agent.sessions"} 5`,
		`folder_source_signatures_total{partition="1",topic="s.agent.sessions",verdict="verified"} 4`,
		`folder_source_signatures_total{partition="1",topic="s.agent.sessions",verdict="unknown_key"} 3`,
		`folder_source_signatures_total{partition="1",topic="s.agent.sessions",verdict="wrong_signature"} 2`,
		"folder_sources_begun_anew_total 8",
		"folder_changelogs_healed_total 9",
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
