// Command active keeps a table of the sessions that have not ended. It follows
// the changes topic, which says which sessions changed, and reads what became of
// them over HTTP.
//
// The topic is read at least once and may have lost its oldest rows, so the
// table rests on three rules. It is loaded from the list, and rows are followed
// from before that. A row only says that a session is to be read again, so a row
// that comes twice changes nothing. And whenever a row may have been missed, the
// table is loaded anew.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/signal"
	"strings"
	"time"
)

func main() {
	brokers := flag.String("brokers", "localhost:9092", "bootstrap addresses, separated by commas")
	topic := flag.String("topic", "sessionfold-changes", "the changes topic")
	stream := flag.String("stream", "agents", "stream")
	url := flag.String("reads", "http://127.0.0.1:8080/agdx", "a worker's reads, with the prefix; FOLDER_TOKEN holds a token")
	flag.Parse()
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	r := &reads{url: *url, stream: *stream, token: os.Getenv("FOLDER_TOKEN")}
	f := &follower{brokers: strings.Split(*brokers, ","), topic: *topic, stream: *stream, reads: r, out: os.Stdout}
	if err := keep(ctx, f); err != nil {
		fmt.Fprintln(os.Stderr, "active:", err)
		os.Exit(1)
	}
}

// keep follows until it is told to stop, and begins anew after a loss.
func keep(ctx context.Context, f *follower) error {
	for {
		err := f.follow(ctx)
		switch {
		case ctx.Err() != nil:
			return nil
		case !errors.Is(err, errResync):
			return err
		}
		fmt.Fprintln(f.out, err)
		select {
		case <-time.After(100 * time.Millisecond): // a loss that stays is no reason to spin
		case <-ctx.Done():
		}
	}
}
