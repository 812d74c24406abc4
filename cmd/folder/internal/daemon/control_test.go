package daemon

import (
	"net/http"
	"net/http/httptest"
	"testing"

	"sessionfold/cmd/folder/internal/config"
)

// What changes the worker, or shows what it stored, is for its own machine, also
// when the listener is open, and for all with admin.control.
func TestControlIsForTheOwnMachine(t *testing.T) {
	for _, listen := range []string{":9090", "127.0.0.1:9090"} {
		for _, control := range []bool{false, true} {
			d := &Daemon{cfg: &config.Config{}, metrics: newMetrics(Build{}), drain: newDrain()}
			d.cfg.Admin.Listen, d.cfg.Admin.Control = listen, control
			h := d.adminHandler()
			for from, here := range map[string]bool{"127.0.0.1:5": true, "[::1]:5": true, "10.1.2.3:5": false, "[fd00::1]:5": false, "": false} {
				for _, route := range []struct{ method, path string }{{"POST", "/drain"}, {"POST", "/rebuild?stream=s"}, {"GET", "/dump?stream=s"}} {
					req := httptest.NewRequest(route.method, route.path, nil)
					req.RemoteAddr = from
					res := httptest.NewRecorder()
					h.ServeHTTP(res, req)
					want := http.StatusServiceUnavailable // it was let in, and the store is not open yet
					if !here && !control {
						want = http.StatusForbidden
					}
					if res.Code != want {
						t.Errorf("%s %s from %q, listener %s, admin.control %t: status %d, want %d", route.method, route.path, from, listen, control, res.Code, want)
					}
				}
			}
		}
	}
}
