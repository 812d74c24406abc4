package main

import (
	"fmt"

	"github.com/spf13/cobra"

	"sessionfold/cmd/folder/internal/client"
)

func sessionsAudit(c *cli) *cobra.Command {
	var r remote
	var format int
	cmd := &cobra.Command{Use: "audit ID", Short: "Print the audit snapshot of a DeepStrike session as JSON", Args: args(cobra.ExactArgs(1))}
	cmd.Flags().IntVar(&format, "format", 2, "2, or 1 for the older form")
	return reading(c, &r, cmd, func(cmd *cobra.Command, cl *client.Client, stream string, a []string) error {
		raw, err := cl.Audit(cmd.Context(), stream, a[0], format)
		if err != nil {
			return err
		}
		_, err = fmt.Fprintf(c.out, "%s\n", raw)
		return err
	})
}
