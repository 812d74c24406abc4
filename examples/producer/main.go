// Command producer writes one whole agent session to Kafka with a plain client:
// its start, a person's turn, model and tool calls, the state document as a
// snapshot and deltas, a child session, and both ends. Package wire encodes;
// everything else is franz-go.
package main

import (
	"bufio"
	"context"
	"flag"
	"fmt"
	"io"
	"os"
	"os/signal"
	"strings"

	"github.com/twmb/franz-go/pkg/kgo"
)

func main() {
	brokers := flag.String("brokers", "localhost:9092", "bootstrap addresses, separated by commas")
	stream := flag.String("stream", "agents", "stream; the session is written to the topic STREAM.agent.sessions")
	step := flag.Bool("step", false, "wait for a line on standard input between the parts of the session")
	flag.Parse()
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	if err := run(ctx, strings.Split(*brokers, ","), *stream, *step); err != nil {
		fmt.Fprintln(os.Stderr, "producer:", err)
		os.Exit(1)
	}
}

func run(ctx context.Context, brokers []string, stream string, step bool) error {
	// The client's defaults are what the records want: writes are idempotent and
	// acknowledged by all replicas, and the key, which is the session, chooses
	// the partition, so that the records of a session stay in order.
	cl, err := kgo.NewClient(kgo.SeedBrokers(brokers...), kgo.DefaultProduceTopic(stream+".agent.sessions"))
	if err != nil {
		return err
	}
	defer cl.Close()
	lines := bufio.NewReader(os.Stdin)
	for _, p := range story() {
		if step {
			fmt.Printf("%s? press Enter\n", p.name)
			if _, err := lines.ReadString('\n'); err != nil && err != io.EOF {
				return err
			}
		}
		for _, r := range p.records {
			if err := cl.ProduceSync(ctx, r).FirstErr(); err != nil {
				return fmt.Errorf("write to %s: %w", r.Topic, err)
			}
		}
		fmt.Printf("wrote %s %s\n", p.name, p.session)
	}
	return nil
}
