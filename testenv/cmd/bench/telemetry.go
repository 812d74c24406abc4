package main

import (
	"context"
	"fmt"
	"os"

	"sessionfold/testenv/bench"
)

// telemetry folds the short case with and without it.
func telemetry(ctx context.Context, b bench.Bench, o options) (err error) {
	if b.Kafka, err = bench.StartKafka(); err != nil {
		return err
	}
	defer b.Kafka.Close()
	c, err := bench.StartCollector()
	if err != nil {
		return err
	}
	defer c.Close()
	load := bench.Short("telemetry", 0, o.sessions, int32(o.partitions))
	load.Traced()
	if err := b.Preload(ctx, "telemetry", load); err != nil {
		return err
	}
	pairs, err := b.Telemetry(ctx, "telemetry", load, c, o.sampled, o.runs)
	if err != nil {
		return err
	}
	bench.PrintTelemetry(os.Stdout, load, pairs, c, o.sampled)
	if left := bench.MedianPair(pairs, (*bench.Pair).Rate); left < o.left {
		return fmt.Errorf("bench: telemetry case: %.3f of the records per second are left, the floor is %.3f", left, o.left)
	}
	return nil
}
