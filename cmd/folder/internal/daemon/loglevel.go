package daemon

import (
	"encoding/json"
	"fmt"
	"log/slog"
	"net/http"
	"strings"
)

// LogLevel is what /loglevel answers.
type LogLevel struct {
	Level string `json:"level"` // a word of log.level
}

// logLevel tells the least level that is logged: GET /loglevel.
func (d *Daemon) logLevel(w http.ResponseWriter, _ *http.Request) {
	w.Header().Set("Content-Type", "application/json")
	_ = json.NewEncoder(w).Encode(LogLevel{strings.ToLower(d.level.Level().String())}) // the client is gone, or it is not
}

// setLogLevel changes it until the process ends: PUT /loglevel?level=debug.
func (d *Daemon) setLogLevel(w http.ResponseWriter, r *http.Request) {
	word := r.URL.Query().Get("level")
	level, ok := map[string]slog.Level{
		"debug": slog.LevelDebug, "info": slog.LevelInfo, "warn": slog.LevelWarn, "error": slog.LevelError,
	}[word]
	if !ok {
		http.Error(w, fmt.Sprintf("level %q: accepted are debug, info, warn and error", word), http.StatusBadRequest)
		return
	}
	was := d.level.Level()
	d.level.Set(min(was, level, slog.LevelInfo)) // the line about it is shown in any case
	d.log.Info("the log level is changed", "from", strings.ToLower(was.String()), "to", word)
	d.level.Set(level)
	d.logLevel(w, r)
}
