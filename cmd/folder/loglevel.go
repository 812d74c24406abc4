package main

import (
	"encoding/json"
	"fmt"
	"net/http"
	"net/url"

	"github.com/spf13/cobra"

	"sessionfold/cmd/folder/internal/config"
	"sessionfold/cmd/folder/internal/daemon"
)

func logLevelCommand(c *cli) *cobra.Command {
	var at adminURL
	cmd := &cobra.Command{
		Use:   "loglevel [debug|info|warn|error]",
		Short: "Show or change the log level of a running worker",
		Long: "loglevel asks a running worker, by its admin listener, which lines it logs, or tells it. A change lasts until\n" +
			"the worker ends. It takes changes from its own machine only, unless admin.control is set.",
		Args:      args(cobra.MaximumNArgs(1)),
		ValidArgs: []string{"debug", "info", "warn", "error"},
	}
	fs := cmd.Flags()
	at.add(fs)
	f := addConfigFlags(cmd)
	f.hide()
	cmd.RunE = func(cmd *cobra.Command, words []string) error {
		l, err := config.Read(f.input(c))
		if err != nil {
			return err
		}
		base, method, q := at.base(c, l), http.MethodGet, url.Values{}
		if len(words) == 1 {
			method = http.MethodPut
			q.Set("level", words[0])
		}
		res, err := ask(cmd.Context(), method, base, "/loglevel", q, http.StatusOK)
		if err != nil {
			return err
		}
		defer res.Body.Close()
		var level daemon.LogLevel
		if err := json.NewDecoder(res.Body).Decode(&level); err != nil {
			return fmt.Errorf("%s: the answer does not read: %w", base, err)
		}
		fmt.Fprintln(c.out, level.Level)
		return nil
	}
	return cmd
}
