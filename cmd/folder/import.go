package main

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"sessionfold/cmd/folder/internal/config"
	"sessionfold/cmd/folder/internal/daemon"
	"sessionfold/cmd/folder/internal/ingest"
	"sessionfold/cmd/folder/internal/replay"
	"sessionfold/wire"
)

type importOptions struct {
	stream, topic, dialect string
	partitions             int32
	dry, now               bool
}

func importCommand(c *cli) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "import PATH…",
		Short: "Send log files of DeepStrike and Everruns to Kafka, each line once",
		Long: "import sends the logs of DeepStrike, a file <session>.jsonl for each session, and exports of Everruns, one event\n" +
			"or session object per line, to the topic of their stream, with the keys that their programs write. A directory\n" +
			"stands for the logs in it; .gz files are read too. Where streams are configured, lines go to the one of their\n" +
			"dialect; else --topic says where.\n\n" +
			"Each record carries the name of its file and the number of its line. An import that was interrupted, or is given\n" +
			"files that have grown, looks what the topic has and sends the rest. Lines that cannot be read are records all the\n" +
			"same, as they would be from Kafka, and are counted.",
		Args: args(cobra.MinimumNArgs(1)),
	}
	var o importOptions
	fs := cmd.Flags()
	fs.StringVar(&o.stream, "stream", "", "stream; may be left out when one is configured for the dialect")
	fs.StringVar(&o.topic, "topic", "", "topic; the stream's first one when left out")
	fs.StringVar(&o.dialect, "dialect", "", "deepstrike or everruns; each file's first line tells when left out")
	fs.Int32Var(&o.partitions, "partitions", 0, "make a topic that is missing, with so many partitions; it keeps records for ever and in their own time")
	fs.BoolVar(&o.dry, "dry-run", false, "read the files and say what would be sent; no broker is asked")
	fs.BoolVar(&o.now, "now", false, "records get the time of the import, not of their event or file")
	f := addConfigFlags(cmd)
	f.hide("kafka.brokers", "streams")
	cmd.RunE = func(cmd *cobra.Command, a []string) error {
		l, err := config.Read(f.input(c))
		if err != nil {
			return err
		}
		return c.importFiles(cmd.Context(), &l.Config, &o, a)
	}
	return cmd
}

func (c *cli) importFiles(ctx context.Context, cfg *config.Config, o *importOptions, paths []string) error {
	in := ingest.Options{}
	if o.dialect != "" {
		d, ok := wire.ParseDialect(o.dialect)
		if !ok || d == wire.DialectAGDX {
			return usageError{fmt.Errorf("--dialect: %q, accepted are deepstrike, everruns", o.dialect)}
		}
		in.Dialect = &d
	}
	if o.partitions < 0 {
		return usageError{errors.New("--partitions is not negative")}
	}
	if len(cfg.Streams) == 0 && o.topic == "" {
		return usageError{errors.New("no stream is configured, so --topic must say where the records go")}
	}
	var err error
	if in.Files, err = replay.Expand(paths); err != nil {
		return err
	}
	in.Route = func(d wire.Dialect) (string, string, error) { return o.route(cfg.Streams, d) }
	if !o.dry {
		conn, err := daemon.Conn(cfg, slog.New(slog.DiscardHandler)) // what remains is returned
		if err != nil {
			return err
		}
		in.Kafka = &ingest.Kafka{Conn: conn, Partitions: o.partitions, Replicas: int16(cfg.Output.ReplicationFactor)}
	}
	if o.now {
		in.Now = time.Now
	}
	p := c.progress(replay.Size(in.Files), "importing")
	in.Progress = p.add
	in.Looking = p.looking
	reports, err := ingest.Run(ctx, in)
	p.close()
	for i := range reports {
		c.imported(&reports[i], o.dry)
	}
	if err != nil && !o.dry && len(reports) > 0 {
		fmt.Fprintln(c.err, "the import is not complete; the same command sends the rest")
	}
	return err
}

// route gives the stream and topic of a dialect.
func (o *importOptions) route(streams []config.Stream, d wire.Dialect) (stream, topic string, err error) {
	if len(streams) == 0 {
		stream = o.stream
		if stream == "" {
			stream = o.topic
		}
		return stream, o.topic, nil
	}
	var fit []config.Stream
	for _, s := range streams {
		if (s.Auto() || s.WireDialect() == d) && len(s.Topics) > 0 && (o.stream == "" || o.stream == s.Name) && (o.topic == "" || slices.Contains(s.Topics, o.topic)) {
			fit = append(fit, s)
		}
	}
	switch {
	case len(fit) == 0:
		var of string
		if o.stream != "" {
			of += " named " + o.stream
		}
		if o.topic != "" {
			of += " with topic " + o.topic
		}
		return "", "", fmt.Errorf("is of %s, and no stream%s of that dialect is configured\n    hint: streams: [{name: …, dialect: %s, topics: […]}]", d, of, d)
	case len(fit) > 1:
		var names []string
		for _, s := range fit {
			names = append(names, s.Name)
		}
		return "", "", fmt.Errorf("is of %s, and streams %s take that\n    hint: choose one with --stream", d, strings.Join(names, ", "))
	case o.topic != "":
		return fit[0].Name, o.topic, nil
	}
	return fit[0].Name, fit[0].Topics[0], nil
}

// imported prints what became of the lines of a dialect.
func (c *cli) imported(r *ingest.Report, dry bool) {
	fmt.Fprintf(c.out, "%s: %d records of %d sessions for topic %s of stream %s", r.Dialect, r.Lines, r.Sessions, r.Topic, r.Stream)
	if !dry {
		fmt.Fprintf(c.out, ": %d sent, %d were there", r.Sent, r.Had)
	}
	fmt.Fprintln(c.out)
	if r.BrokerTime && r.Sent > 0 {
		fmt.Fprintf(c.out, "%s: topic %s times records itself (message.timestamp.type): sessions are as old as the import\n", r.Dialect, r.Topic)
	}
	if r.Bad > 0 {
		fmt.Fprintf(c.out, "%s: %d of them cannot be read, are no event, or name no session; they count as such records\n", r.Dialect, r.Bad)
	}
	if r.Cut > 0 {
		fmt.Fprintf(c.out, "%s: %d files end within a line, which is left out\n", r.Dialect, r.Cut)
	}
	for _, e := range r.Examples {
		fmt.Fprintln(c.out, " ", e)
	}
}
