package e2e

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"sessionfold/testenv"
	"sessionfold/testenv/folder"
	"sessionfold/wire"
)

// Three workers share a stream: each answers for the whole of it. One is killed:
// the others refuse until they have its partitions, and are whole again.
func TestAnyWorkerAnswersForAll(t *testing.T) {
	r := newSlowRig(t)
	ws := []*folder.Worker{r.worker, r.another("b"), r.another("c")}
	shortSession(ws...)
	var urls []string
	for _, w := range ws {
		urls = append(urls, strings.TrimSuffix(w.Reads, "/agdx"))
	}
	for _, w := range ws {
		w.Env = append(w.Env, "FOLDER_HTTP_PEERS="+strings.Join(urls, ","))
	}
	r.write(r.clean(81, 40)...)
	for _, w := range ws {
		if err := w.Start(); err != nil {
			t.Fatal(err)
		}
	}
	parts := r.shared(2*time.Minute, "e2e", "b", "c")
	r.allAnswer(2*time.Minute, ws)
	r.allTheSame(ws)

	ws[2].Kill()
	for _, w := range ws[:2] {
		var refused *folder.StatusError
		_, err := w.Sessions(t.Context(), r.stream)
		if !errors.As(err, &refused) || refused.Status != http.StatusServiceUnavailable || !names(string(refused.Body), parts["c"]) || !strings.Contains(string(refused.Body), urls[2]) {
			t.Errorf("after a worker was killed %s answers %v, want 503 that names one of %v and %s", w.Instance, err, parts["c"], urls[2])
		}
	}
	r.shared(90*time.Second, "e2e", "b")
	r.allAnswer(2*time.Minute, ws[:2])
	r.allTheSame(ws[:2])
	for _, w := range ws[:2] {
		if err := w.Stop(); err != nil {
			t.Error(err)
		}
	}
}

// names says that a text has one of the partitions.
func names(text string, of []wire.TopicPartition) bool {
	return slices.ContainsFunc(of, func(tp wire.TopicPartition) bool { return strings.Contains(text, tp.String()) })
}

// allAnswer waits until every worker shows everything that was written.
func (r *rig) allAnswer(within time.Duration, ws []*folder.Worker) {
	r.Helper()
	ctx, cancel := context.WithTimeout(r.Context(), within+10*time.Second)
	defer cancel()
	testenv.Eventually(r, within, func() error {
		for _, w := range ws {
			if err := w.Ended(); err != nil {
				r.Fatal(err)
			}
			got, err := w.Sessions(ctx, r.stream)
			if err == nil {
				err = errors.Join(whole(got), r.want.Check(got))
			}
			if err != nil {
				return fmt.Errorf("worker %s: %w", w.Instance, err)
			}
		}
		return nil
	})
}

// allTheSame wants the same bytes of all workers, in all reads of a session. The
// clock is in none of them once sessions are over, so those are read.
func (r *rig) allTheSame(ws []*folder.Worker) {
	r.Helper()
	all, err := ws[0].Sessions(r.Context(), r.stream)
	if err != nil {
		r.Fatal(err)
	}
	paths := []string{""}
	for _, id := range slices.SortedFunc(maps.Keys(all), wire.ID.Compare)[:8] {
		for _, read := range []string{"?subtree=true", "/events?limit=1000", "/state", "/links", "/sources"} {
			paths = append(paths, "/"+id.String()+read)
		}
	}
	for _, path := range paths {
		var want []byte
		for i, w := range ws {
			got, err := w.Get(r.Context(), w.Reads+"/sessions/"+r.stream+path)
			if err != nil {
				r.Fatal(err)
			}
			if i == 0 {
				want = got
			} else if string(got) != string(want) {
				r.Fatalf("%s of worker %s:\n%s\nworker %s has\n%s", path, w.Instance, got, ws[0].Instance, want)
			}
		}
	}
}
