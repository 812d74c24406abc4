package app

import (
	"errors"
	"fmt"

	"sessionfold/index"
)

// openStore opens the store of the configured directory. One that is corrupt is
// set aside and begun anew: sources are then restored from their changelogs.
// That is done once; what is corrupt after it is an error.
func openStore(cfg *Config) (*index.Store, error) {
	o := index.Options{Dir: cfg.DataDir, CacheBytes: cfg.CacheBytes, Logger: cfg.Logger}
	if cfg.disk != nil {
		cfg.disk(&o)
	}
	s, err := index.Open(o)
	if !errors.Is(err, index.ErrCorrupt) {
		return s, err
	}
	to, failed := index.SetAside(o)
	if failed != nil {
		return nil, errors.Join(err, failed)
	}
	cfg.Logger.Error("the store was corrupt: its files were set aside, and it is restored from the changelog topics; look at the disk, and remove them when nobody needs them",
		"dir", cfg.DataDir, "aside", to, "err", err)
	if s, err = index.Open(o); err != nil {
		return nil, fmt.Errorf("app: the store that was begun anew behind %s: %w", to, err)
	}
	return s, nil
}

// storeFailure puts the store's failure in the place of what followed from it.
func (a *App) storeFailure(err error) error {
	if failure := a.store.Err(); failure != nil && (err == nil || errors.Is(err, index.ErrFailed)) {
		return failure
	}
	return errors.Join(a.store.Err(), err)
}

// closeStore does not tell a failure again that Run ended with.
func (a *App) closeStore() error {
	failure := a.store.Err()
	err := a.store.Close()
	if failure != nil && err.Error() == failure.Error() {
		return nil
	}
	return err
}
