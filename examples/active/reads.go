package main

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"time"

	"sessionfold/wire"
)

// reads asks a worker.
type reads struct {
	url, stream, token string
	http               http.Client
}

// patience is how long a worker may be busy, behind its rows, or starting.
const patience = 30 * time.Second

// running are the statuses of sessions that have not ended.
var running = []wire.Status{wire.StatusSubmitted, wire.StatusActive, wire.StatusPaused}

// list gives the sessions that have not ended.
func (r *reads) list(ctx context.Context) (map[wire.ID]wire.SessionInfo, error) {
	out := map[wire.ID]wire.SessionInfo{}
	for _, status := range running {
		q := url.Values{"status": {status.String()}, "limit": {"1000"}}
		for {
			var page wire.SessionPage
			if err := r.await(ctx, "?"+q.Encode(), &page, func() bool { return true }); err != nil {
				return nil, err
			}
			for _, s := range page.Items {
				out[s.ID] = s
			}
			if page.Cursor == "" {
				break
			}
			q.Set("cursor", page.Cursor)
		}
	}
	return out, nil
}

// get gives a session once its view has reached the positions.
func (r *reads) get(ctx context.Context, id wire.ID, want map[wire.ChangeSource]uint64) (wire.SessionInfo, error) {
	var info wire.SessionInfo
	err := r.await(ctx, "/"+id.String(), &info, func() bool { return reached(&info, want) })
	return info, err
}

// await asks until the worker answers and the answer is good enough. While it is
// starting, does not hold the whole stream, or does not know the session yet, it
// says so; a worker that cannot serve for longer means loading anew.
func (r *reads) await(ctx context.Context, path string, v any, good func() bool) error {
	for began := time.Now(); ; {
		status, err := r.once(ctx, path, v)
		switch {
		case err == nil && good():
			return nil
		case ctx.Err() != nil:
			return ctx.Err()
		case status >= 400 && status < 500 && status != http.StatusNotFound && status != http.StatusConflict:
			return err // asked wrongly, or not allowed to
		case status == http.StatusConflict:
			return fmt.Errorf("%w: %w", errResync, err) // the list's walk ended under us
		case time.Since(began) > patience:
			return fmt.Errorf("%w: %s%s did not show the change within %s (%v)", errResync, r.stream, path, patience, err)
		}
		select {
		case <-time.After(20 * time.Millisecond):
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}

// once asks once. The status is 0 when there was no answer.
func (r *reads) once(ctx context.Context, path string, v any) (status int, err error) {
	ctx, cancel := context.WithTimeout(ctx, 10*time.Second)
	defer cancel()
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, r.url+"/sessions/"+url.PathEscape(r.stream)+path, nil)
	if err != nil {
		return 0, err
	}
	if r.token != "" {
		req.Header.Set("Authorization", "Bearer "+r.token)
	}
	res, err := r.http.Do(req)
	if err != nil {
		return 0, err
	}
	defer res.Body.Close()
	body, err := io.ReadAll(res.Body)
	if err != nil {
		return 0, err
	}
	if res.StatusCode != http.StatusOK {
		return res.StatusCode, fmt.Errorf("%s: %s: %.300s", req.URL, res.Status, body)
	}
	return res.StatusCode, json.Unmarshal(body, v)
}
