package main

import (
	"bufio"
	"compress/gzip"
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"os"
	"sort"
	"strings"

	"github.com/spf13/cobra"

	"sessionfold/cmd/folder/internal/config"
	"sessionfold/cmd/folder/internal/daemon"
	"sessionfold/cmd/folder/internal/replay"
	"sessionfold/source"
	"sessionfold/wire"
)

func exportCommand(c *cli) *cobra.Command {
	var stream, out string
	cmd := &cobra.Command{
		Use:   "export",
		Short: "Read a stream's topics up to their end into a log that replay folds",
		Long: "export reads every partition of the stream's topics from its start to the high watermark and writes\n" +
			"NDJSON: one record per line, keys and values in base64. A file that ends in .gz is compressed.\n" +
			"The log holds the content of the records; treat it like the topics themselves.",
		Args: args(cobra.NoArgs),
	}
	cmd.Flags().StringVar(&stream, "stream", "", "stream; may be left out when only one is configured")
	cmd.Flags().StringVarP(&out, "output", "o", "-", "file to write; - is standard output")
	f := addConfigFlags(cmd)
	f.hide("kafka.brokers", "streams")
	cmd.RunE = func(cmd *cobra.Command, _ []string) error {
		l, err := config.Read(f.input(c))
		if err != nil {
			return err
		}
		var names []string
		for _, s := range l.Streams {
			names = append(names, s.Name)
		}
		name, err := pick(stream, names)
		if err != nil {
			return err
		}
		// Only the connection and this stream matter here, so a configuration
		// that names no store is no problem.
		if len(l.Streams) == 0 {
			l.Streams = []config.Stream{{Name: name, Dialect: "agdx"}}
		}
		return c.export(cmd.Context(), &l.Config, name, out)
	}
	return cmd
}

func (c *cli) export(ctx context.Context, cfg *config.Config, stream, out string) (err error) {
	log := slog.New(slog.DiscardHandler) // the client retries by itself; what remains is returned
	conn, err := daemon.Conn(cfg, log)
	if err != nil {
		return err
	}
	streams := daemon.SourceStreams(cfg)
	r, err := source.NewReader(conn, streams)
	if err != nil {
		return err
	}
	defer r.Close()
	heads, err := r.Heads(ctx)
	if err != nil {
		return err
	}
	parts := partitionsOf(stream, streams, heads)
	if len(parts) == 0 {
		return fmt.Errorf("stream %q has no topic on %s\n    hint: check --stream and kafka.brokers", stream, strings.Join(cfg.Kafka.Brokers, ", "))
	}
	w, closeOut, err := c.create(out)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, closeOut()) }()
	var total int64
	for _, tp := range parts {
		total += int64(heads[tp].High - heads[tp].Start)
	}
	bar := c.bar(total, "exporting", false)
	n := 0
	for _, tp := range parts {
		if err := exportPartition(ctx, r, tp, w, func() { n++; _ = bar.Add(1) }); err != nil {
			return err
		}
	}
	_ = bar.Finish()
	fmt.Fprintf(c.err, "%d records of %d partitions exported\n", n, len(parts))
	return nil
}

func partitionsOf(stream string, streams []source.Stream, heads map[wire.TopicPartition]source.Head) []wire.TopicPartition {
	topics := map[string]bool{}
	for _, s := range streams {
		for _, t := range s.Topics {
			topics[t.Topic] = s.Name == stream
		}
	}
	var out []wire.TopicPartition
	for tp := range heads {
		if topics[tp.Topic] {
			out = append(out, tp)
		}
	}
	sort.Slice(out, func(i, j int) bool {
		return out[i].Topic < out[j].Topic || out[i].Topic == out[j].Topic && out[i].Partition < out[j].Partition
	})
	return out
}

func exportPartition(ctx context.Context, r *source.Reader, tp wire.TopicPartition, w io.Writer, done func()) error {
	var line []byte
	begin := func(start, _ int64) (err error) {
		if line, err = replay.AppendLogStart(line[:0], tp, uint64(start)); err == nil {
			_, err = w.Write(line)
		}
		return err
	}
	return r.ReadLog(ctx, tp, begin, func(raw wire.Raw) (err error) {
		if line, err = replay.AppendRecord(line[:0], tp, &raw); err == nil {
			_, err = w.Write(line)
		}
		done()
		return err
	})
}

// create opens the output; the function closes every layer of it.
func (c *cli) create(out string) (io.Writer, func() error, error) {
	if out == "-" {
		b := bufio.NewWriterSize(c.out, 1<<20)
		return b, b.Flush, nil
	}
	f, err := os.Create(out)
	if err != nil {
		return nil, nil, err
	}
	if !strings.HasSuffix(out, ".gz") {
		b := bufio.NewWriterSize(f, 1<<20)
		return b, func() error { return errors.Join(b.Flush(), f.Close()) }, nil
	}
	z := gzip.NewWriter(f)
	b := bufio.NewWriterSize(z, 1<<20)
	return b, func() error { return errors.Join(b.Flush(), z.Close(), f.Close()) }, nil
}
