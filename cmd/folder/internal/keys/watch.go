package keys

import (
	"context"
	"log/slog"
	"maps"
	"os"
	"os/signal"
	"slices"
	"syscall"
	"time"
)

// Every is how often a file is looked at.
const Every = time.Second

// Watch takes changes of the files until ctx ends: every second, and at once at
// SIGHUP. A file that cannot be used is told of once; its keys stay in force.
func Watch(ctx context.Context, files map[string]*File, log *slog.Logger) {
	if len(files) == 0 {
		return // and SIGHUP goes on meaning what the system means by it
	}
	hup := make(chan os.Signal, 1)
	signal.Notify(hup, syscall.SIGHUP)
	defer signal.Stop(hup)
	tick := time.NewTicker(Every)
	defer tick.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
		case <-hup:
		}
		look(files, log)
	}
}

func look(files map[string]*File, log *slog.Logger) {
	for _, stream := range slices.Sorted(maps.Keys(files)) {
		f := files[stream]
		switch changed, err := f.Reload(); {
		case err != nil:
			log.Error("a keys file cannot be used; the keys of before stay in force", "stream", stream, "err", err)
		case changed:
			log.Info("other keys are in force", "stream", stream, "keys", f.Current().Len())
		}
	}
}
