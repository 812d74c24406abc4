package daemon

import (
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"net/http"
	"time"

	"sessionfold/cmd/folder/internal/verify"
	"sessionfold/serve"
	"sessionfold/worker"
)

// control serves what changes the worker, or shows what it has stored: to whoever
// is on this machine, or in this pod, whatever the listener's address is, so that
// probes and scrapes may come from elsewhere; with admin.control to all.
func (d *Daemon) control(h http.HandlerFunc) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		host, _, err := net.SplitHostPort(r.RemoteAddr)
		if ip := net.ParseIP(host); !d.cfg.Admin.Control && (err != nil || ip == nil || !ip.IsLoopback()) {
			http.Error(w, "this worker takes that from its own machine only, or with admin.control", http.StatusForbidden)
			return
		}
		h(w, r)
	})
}

// sourceCheck says how a source is: its state, how far a restore is, and whether
// it is being folded again.
func sourceCheck(s *worker.SourceStatus, refoldTo uint64) serve.Check {
	c := serve.Check{Name: s.TopicPartition.String()}
	switch {
	case s.State == worker.Paused:
		c.Err = fmt.Errorf("paused: %s", s.Err)
	case s.State == worker.Restoring && s.Prelude:
		c.Err = errors.New("restoring: its changelog is being written")
	case s.State == worker.Restoring:
		c.Err = fmt.Errorf("restoring: %d changelog records read, %d offsets left", s.Restored, s.Remaining)
	}
	c.Info = fmt.Sprintf("%s, restored %d, remaining %d, next %d, head %d", s.State, s.Restored, s.Remaining, s.Next, s.High)
	if refoldTo > s.Next {
		c.Info += fmt.Sprintf(", rebuilding to %d", refoldTo)
	}
	return c
}

// Rebuilt is what /rebuild answers for a source.
type Rebuilt struct {
	Source string `json:"source"`
	Error  string `json:"error,omitempty"`
	Lossy  bool   `json:"lossy,omitempty"` // refused because counts would be lost
}

// rebuild begins sources anew: POST /rebuild?stream=S[&source=topic[partition]][&lossy].
func (d *Daemon) rebuild(w http.ResponseWriter, r *http.Request) {
	a := d.app.Load()
	if a == nil {
		http.Error(w, "the store is being opened", http.StatusServiceUnavailable)
		return
	}
	d.takeYourTime(w)
	q := r.URL.Query()
	out, err := Rebuild(r.Context(), a, q.Get("stream"), q.Get("source"), q.Has("lossy"))
	if err != nil {
		http.Error(w, err.Error(), http.StatusNotFound)
		return
	}
	status := http.StatusOK
	for _, o := range out {
		if o.Error != "" {
			status = http.StatusConflict
		}
	}
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(status)
	_ = json.NewEncoder(w).Encode(out) // the client is gone, or it is not
}

// takeYourTime lifts the server's bound on how long an answer may take.
func (d *Daemon) takeYourTime(w http.ResponseWriter) {
	if err := http.NewResponseController(w).SetWriteDeadline(time.Time{}); err != nil {
		d.log.Debug("an answer keeps the server's deadline", "err", err)
	}
}

// dump writes what is stored of a stream: GET /dump?stream=S.
func (d *Daemon) dump(w http.ResponseWriter, r *http.Request) {
	a := d.app.Load()
	if a == nil {
		http.Error(w, "the store is being opened", http.StatusServiceUnavailable)
		return
	}
	stream := r.URL.Query().Get("stream")
	if !a.HasStream(stream) {
		http.Error(w, fmt.Sprintf("stream %q is not configured here", stream), http.StatusNotFound)
		return
	}
	d.takeYourTime(w)
	rd, err := a.Store().Reader()
	if err != nil {
		http.Error(w, err.Error(), http.StatusInternalServerError)
		return
	}
	defer rd.Close()
	w.Header().Set("Content-Type", "application/octet-stream")
	out := verify.NewWriter(w)
	if err := rd.Dump(r.Context(), stream, out.Put); err == nil {
		err = out.End()
		if err != nil {
			d.log.Debug("a dump was not taken to its end", "err", err)
		}
	} else if r.Context().Err() == nil {
		d.log.Warn("a dump failed", "stream", stream, "err", err)
		panic(http.ErrAbortHandler) // the client must not take it for whole
	}
}
