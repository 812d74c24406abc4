package serve

import (
	"net/http"
)

// Check is one named condition of readiness; Err nil means that it holds.
type Check struct {
	Name string
	Err  error
	Info string // more of it, for the verbose answer
}

// AdminOptions are the world of the admin handler.
type AdminOptions struct {
	Version any                     // written as JSON by /version
	Live    func() error            // nil: the process can go on. A failure means: restart it
	Started func() []Check          // conditions that hold once and stay
	Ready   func() []Check          // conditions of answering right now
	Metrics http.Handler            // nil: /metrics is not there
	Extra   map[string]http.Handler // further patterns, e.g. profiles
}

// Admin serves /livez, /readyz and /startupz (text, or JSON with ?verbose),
// /metrics and /version. It belongs on a port of its own: it asks for no token.
func Admin(o AdminOptions) http.Handler {
	mux := http.NewServeMux()
	mux.HandleFunc("GET /livez", health(func() []Check {
		var err error
		if o.Live != nil {
			err = o.Live()
		}
		return []Check{{Name: "live", Err: err}}
	}))
	mux.HandleFunc("GET /startupz", health(o.Started))
	mux.HandleFunc("GET /readyz", health(o.Ready))
	mux.HandleFunc("GET /version", func(w http.ResponseWriter, _ *http.Request) {
		b, err := encodeJSON(o.Version)
		if err != nil {
			http.Error(w, "the version cannot be encoded", http.StatusInternalServerError)
			return
		}
		write(w, http.StatusOK, typeJSON, b)
	})
	if o.Metrics != nil {
		mux.Handle("GET /metrics", o.Metrics)
	}
	for pattern, h := range o.Extra {
		mux.Handle(pattern, h)
	}
	return mux
}

type checkView struct {
	Name    string `json:"name"`
	OK      bool   `json:"ok"`
	Message string `json:"message,omitempty"`
	Info    string `json:"info,omitempty"`
}

type healthView struct {
	OK     bool        `json:"ok"`
	Checks []checkView `json:"checks"`
}

// health answers 200 when every check holds, else 503 with the first that does
// not.
func health(checks func() []Check) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		view := healthView{OK: true, Checks: []checkView{}}
		text := "ok\n"
		if checks != nil {
			for _, c := range checks() {
				v := checkView{Name: c.Name, OK: c.Err == nil, Info: c.Info}
				if c.Err != nil {
					v.Message = c.Err.Error()
					if view.OK {
						text = c.Name + ": " + v.Message + "\n"
					}
					view.OK = false
				}
				view.Checks = append(view.Checks, v)
			}
		}
		status := http.StatusOK
		if !view.OK {
			status = http.StatusServiceUnavailable
		}
		if r.URL.Query().Has("verbose") {
			if b, err := encodeJSON(view); err == nil {
				write(w, status, typeJSON, b)
				return
			}
		}
		write(w, status, "text/plain; charset=utf-8", []byte(text))
	}
}
