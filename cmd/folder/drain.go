package main

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"net/url"
	"time"

	"github.com/spf13/cobra"

	"sessionfold/cmd/folder/internal/config"
	"sessionfold/cmd/folder/internal/daemon"
	"sessionfold/source"
)

func drainCommand(c *cli) *cobra.Command {
	var o struct {
		instance string
		exit     bool
		within   time.Duration
		at       adminURL
	}
	cmd := &cobra.Command{
		Use:   "drain",
		Short: "Take a worker out of its group for good, so that others take its partitions at once",
		Long: "drain asks a running worker, by its admin listener, to commit what it has and to leave the group. It is\n" +
			"for a worker that does not come back: one that only stops keeps its partitions until kafka.session_timeout.\n" +
			"It returns when the group is left. The worker then stays, not ready and without partitions, until it is\n" +
			"stopped; with --exit it ends by itself. It listens to its own machine only, unless admin.control is set.\n\n" +
			"With --instance the brokers are told instead that the member of this name is gone: for a worker that has\n" +
			"ended already. One that still runs joins again.",
		Args: args(cobra.NoArgs),
	}
	fs := cmd.Flags()
	fs.StringVar(&o.instance, "instance", "", "tell the brokers that the member with this kafka.instance is gone")
	fs.BoolVar(&o.exit, "exit", false, "the worker ends afterwards")
	fs.DurationVar(&o.within, "within", daemon.StopBound, "longest time to wait")
	o.at.add(fs)
	f := addConfigFlags(cmd)
	f.hide()
	cmd.RunE = func(cmd *cobra.Command, _ []string) error {
		l, err := config.Read(f.input(c))
		if err != nil {
			return err
		}
		ctx, cancel := context.WithTimeout(cmd.Context(), o.within)
		defer cancel()
		if o.instance != "" {
			return c.drainMember(ctx, l, o.instance)
		}
		q := url.Values{}
		if o.exit {
			q.Set("exit", "true")
		}
		base := o.at.base(c, l)
		res, err := ask(ctx, http.MethodPost, base, "/drain", q, http.StatusOK)
		if err != nil {
			return err
		}
		defer res.Body.Close()
		var d daemon.Drained
		if err := json.NewDecoder(res.Body).Decode(&d); err != nil {
			return fmt.Errorf("%s: the answer does not read: %w", base, err)
		}
		fmt.Fprintf(c.out, "%s has left group %s\n", d.Instance, d.Group)
		return nil
	}
	return cmd
}

func (c *cli) drainMember(ctx context.Context, l *config.Loaded, instance string) error {
	conn, err := daemon.Conn(&l.Config, newLogger(c.err, &l.Config))
	if err != nil {
		return err
	}
	was, err := source.LeaveGroup(ctx, conn, l.Kafka.Group, instance)
	if err != nil {
		return err
	}
	if !was {
		return fmt.Errorf("group %s has no member %s\n    hint: the name is that of kafka.instance, or of the worker's host", l.Kafka.Group, instance)
	}
	fmt.Fprintf(c.out, "%s has left group %s\n", instance, l.Kafka.Group)
	return nil
}
