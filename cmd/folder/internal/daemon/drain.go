package daemon

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"sync"
	"sync/atomic"

	"sessionfold/cmd/folder/internal/app"
)

// drain is the request, at most one per process, to leave the group for good. A
// static member that only stops keeps its partitions until its session times
// out, which is right for a restart and wrong for one that does not come back.
type drain struct {
	asked chan struct{} // closed by the first request
	done  chan struct{} // closed when err says how it went
	err   error
	once  sync.Once
	exit  atomic.Bool // the process ends afterwards
	left  atomic.Bool
}

func newDrain() *drain { return &drain{asked: make(chan struct{}), done: make(chan struct{})} }

// Drained is what /drain answers.
type Drained struct {
	Group    string `json:"group"`
	Instance string `json:"instance"`
}

// leave takes the worker out of the group once it has ended. Then the process
// stays until it is told to stop, unless the request was for its end too: a
// supervisor would start it again, and it would join again.
func (d *Daemon) leave(ctx context.Context, a *app.App, ended error) error {
	if ended == nil {
		if d.drain.err = a.Leave(ctx); d.drain.err == nil {
			d.drain.left.Store(true)
			d.log.Info("drained: the group is left, and other workers take the partitions", "instance", a.Instance())
		}
	} else {
		d.drain.err = ended
	}
	close(d.drain.done)
	if d.drain.err != nil {
		return fmt.Errorf("drain: %w", d.drain.err)
	}
	if !d.drain.exit.Load() {
		<-ctx.Done()
	}
	return nil
}

// drainHandler leaves the group: POST /drain[?exit]. It answers when that is
// done.
func (d *Daemon) drainHandler(w http.ResponseWriter, r *http.Request) {
	a := d.app.Load()
	if a == nil {
		http.Error(w, "the store is being opened", http.StatusServiceUnavailable)
		return
	}
	d.takeYourTime(w)
	d.drain.once.Do(func() {
		d.drain.exit.Store(r.URL.Query().Has("exit"))
		close(d.drain.asked)
	})
	select {
	case <-d.drain.done:
	case <-r.Context().Done():
		return
	}
	if d.drain.err != nil {
		http.Error(w, d.drain.err.Error(), http.StatusInternalServerError)
		return
	}
	w.Header().Set("Content-Type", "application/json")
	_ = json.NewEncoder(w).Encode(Drained{d.cfg.Kafka.Group, a.Instance()}) // the client is gone, or it is not
}
