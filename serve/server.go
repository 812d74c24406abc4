package serve

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"time"
)

// NewServer gives a server with the bounds that a listener needs: a slow or
// silent client holds a connection for seconds, not for ever.
func NewServer(h http.Handler, logger *slog.Logger) *http.Server {
	return &http.Server{
		Handler:           h,
		ReadHeaderTimeout: 5 * time.Second,
		ReadTimeout:       15 * time.Second,
		WriteTimeout:      60 * time.Second,
		IdleTimeout:       120 * time.Second,
		MaxHeaderBytes:    64 << 10,
		ErrorLog:          slog.NewLogLogger(logger.Handler(), slog.LevelDebug),
	}
}

// Serve runs the server on the listener until ctx ends, then lets requests in
// flight finish for up to grace and closes what is left. Nil after an orderly
// end.
func Serve(ctx context.Context, srv *http.Server, ln net.Listener, grace time.Duration) error {
	ended := make(chan error, 1)
	// What has no end of its own looks for it here.
	base := context.WithValue(context.WithoutCancel(ctx), stoppingKey{}, ctx.Done())
	srv.BaseContext = func(net.Listener) context.Context { return base }
	go func() { ended <- srv.Serve(ln) }()
	select {
	case err := <-ended:
		return fmt.Errorf("serve: listener %s: %w", ln.Addr(), err)
	case <-ctx.Done():
	}
	// The parent is over already: only its values go on.
	stop, cancel := context.WithTimeout(context.WithoutCancel(ctx), grace)
	defer cancel()
	err := srv.Shutdown(stop)
	if errors.Is(err, context.DeadlineExceeded) {
		err = srv.Close()
	}
	if e := <-ended; !errors.Is(e, http.ErrServerClosed) {
		err = errors.Join(err, e)
	}
	if err != nil {
		return fmt.Errorf("serve: close listener %s: %w", ln.Addr(), err)
	}
	return nil
}
