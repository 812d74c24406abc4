package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"os"

	"github.com/spf13/cobra"

	"sessionfold/cmd/folder/internal/config"
	"sessionfold/index"
)

func checkStoreCommand(c *cli) *cobra.Command {
	var asJSON bool
	cmd := &cobra.Command{
		Use:   "check-store [DIR]",
		Short: "Prove that the parts of a store agree with each other",
		Long: "check-store reads the whole store and proves that the session list and the timelines agree with what\n" +
			"was folded. The directory is that of the configuration unless given. No worker may have it open.\n" +
			"The exit code is 1 when something is wrong.",
		Args: args(cobra.MaximumNArgs(1)),
	}
	cmd.Flags().BoolVar(&asJSON, "json", false, "print JSON")
	f := addConfigFlags(cmd)
	f.hide()
	cmd.RunE = func(cmd *cobra.Command, a []string) (err error) {
		l, err := config.Read(f.input(c))
		if err != nil {
			return err
		}
		dir := l.Store.Dir
		if len(a) == 1 {
			dir = a[0]
		}
		if dir == "" {
			return usageError{errors.New("which store?\n    hint: name its directory, or give --config")}
		}
		// Opening makes a store where there is none, which would hide a slip.
		if _, err := os.Stat(dir); err != nil {
			return fmt.Errorf("store: %w", err)
		}
		s, err := index.Open(index.Options{Dir: dir, CacheBytes: int64(l.Store.Cache), Logger: slog.New(slog.DiscardHandler)})
		if err != nil {
			return err
		}
		defer func() { err = errors.Join(err, s.Close()) }()
		r, err := s.Check(cmd.Context())
		if err != nil {
			return err
		}
		return c.report(r, asJSON)
	}
	return cmd
}

// report prints what a check found.
func (c *cli) report(r index.Report, asJSON bool) error {
	if asJSON {
		if err := json.NewEncoder(c.out).Encode(r); err != nil {
			return err
		}
	} else {
		fmt.Fprintf(c.out, "%d sources, %d sessions, %d partials, %d list entries, %d timeline rows in %d packs, %d state documents\n",
			r.Sources, r.Sessions, r.Partials, r.Entries, r.Rows, r.Packs, r.Documents)
		for _, n := range r.Notes {
			fmt.Fprintln(c.out, "note:", n)
		}
		for _, p := range r.Problems {
			fmt.Fprintln(c.out, "problem:", p)
		}
	}
	if r.Total == 0 {
		if !asJSON {
			fmt.Fprintln(c.out, "the store agrees with itself")
		}
		return nil
	}
	fmt.Fprintf(c.err, "%d problems\n    hint: stop the worker, move the directory away and run it again: the store is restored from the changelog topics\n", r.Total)
	return errQuiet
}
