package main

import (
	"context"
	"fmt"
	"time"

	"github.com/spf13/cobra"

	"sessionfold/cmd/folder/internal/config"
	"sessionfold/cmd/folder/internal/preflight"
	"sessionfold/sink"
)

func topicsCommand(c *cli) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "topics",
		Short: "Check and create the topics that a configuration needs",
		Args:  args(cobra.NoArgs),
		RunE:  func(cmd *cobra.Command, _ []string) error { return cmd.Help() },
	}
	cmd.AddCommand(topicsCheckCommand(c), topicsCreateCommand(c))
	return cmd
}

func topicsCheckCommand(c *cli) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "check",
		Short: "Find everything that is wrong with topics, their settings and this user's rights",
		Long: "check asks the brokers about the topics that are folded, the changes topic and the changelogs: are they there,\n" +
			"with enough partitions and the right settings, and may this user do what a worker does with them, with the\n" +
			"group and with the transactional id? It changes nothing and disturbs no worker. Exit code 1: something is\n" +
			"wrong, or the brokers do not answer; warnings alone are 0.",
		Args: args(cobra.NoArgs),
	}
	within := cmd.Flags().Duration("within", time.Minute, "longest time to wait")
	f := addConfigFlags(cmd)
	f.hide("kafka.brokers", "streams")
	cmd.RunE = func(cmd *cobra.Command, _ []string) error {
		l, err := config.Read(f.input(c))
		if err != nil {
			return err
		}
		c.warn(l)
		return c.online(cmd.Context(), l, *within)
	}
	return cmd
}

// online prints what is found at the brokers.
func (c *cli) online(ctx context.Context, l *config.Loaded, within time.Duration) error {
	ctx, cancel := context.WithTimeout(ctx, within)
	defer cancel()
	p, err := preflight.New(&l.Config, newLogger(c.err, &l.Config))
	if err != nil {
		return err
	}
	defer p.Close()
	fs, err := p.Check(ctx)
	if err != nil {
		return err
	}
	n := map[sink.Level]int{}
	for _, f := range fs {
		n[f.Level]++
		fmt.Fprintf(c.out, "%-7s  %s %s\n", f.Level, f.On, f.What)
		if f.Hint != "" {
			fmt.Fprintf(c.out, "         hint: %s\n", f.Hint)
		}
	}
	fmt.Fprintf(c.out, "%d topics of %d streams, group %s: %d wrong, %d warnings\n", p.Topics(), len(l.Streams), l.Kafka.Group, n[sink.Wrong], n[sink.Warning])
	if n[sink.Wrong] > 0 {
		return errQuiet
	}
	return nil
}

func topicsCreateCommand(c *cli) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "create",
		Short: "Create the topics that are missing, with the settings that they need",
		Long: "create makes the changes topic and a changelog for each topic that is folded and exists, as a worker would.\n" +
			"With --source-partitions it makes the missing topics that are folded first. What exists is left as it is;\n" +
			"`folder topics check` says whether it is right.",
		Args: args(cobra.NoArgs),
	}
	within := cmd.Flags().Duration("within", time.Minute, "longest time to wait")
	partitions := cmd.Flags().Int32("source-partitions", 0, "also create the topics that are folded, with so many partitions each")
	f := addConfigFlags(cmd)
	f.hide("kafka.brokers", "streams")
	cmd.RunE = func(cmd *cobra.Command, _ []string) error {
		l, err := config.Read(f.input(c))
		if err != nil {
			return err
		}
		c.warn(l)
		l.Output.CreateTopics = true // that is what was asked for
		ctx, cancel := context.WithTimeout(cmd.Context(), *within)
		defer cancel()
		p, err := preflight.New(&l.Config, newLogger(c.err, &l.Config))
		if err != nil {
			return err
		}
		defer p.Close()
		made := 0
		err = p.Create(ctx, *partitions, func(topic string) {
			made++
			fmt.Fprintln(c.out, "created", topic)
		})
		if err != nil {
			return err
		}
		fmt.Fprintf(c.out, "%d topics created\n", made)
		return nil
	}
	return cmd
}
