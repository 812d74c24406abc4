package e2e

import (
	"context"
	"flag"
	"math/rand/v2"
	"os"
	"strconv"
	"testing"
	"time"

	"sessionfold/testenv/agdxgen"
)

var (
	kills = flag.Int("kills", number("FOLDER_KILLS", 8), "how often TestKill kills the worker; FOLDER_KILLS")
	seed  = flag.Uint64("seed", uint64(number("FOLDER_SEED", 0)), "seed of TestKill, 0: a new one each time; FOLDER_SEED")
)

func number(env string, otherwise int) int {
	if n, err := strconv.Atoi(os.Getenv(env)); err == nil {
		return n
	}
	return otherwise
}

// loadRate is the load that runs while workers die, in records per second.
const loadRate = 2_000

// A worker is killed at random moments, again and again under load, and now and
// then its store is thrown away too. Afterwards nothing is missing and nothing
// counted twice: the index equals an offline replay, and a read-committed reader
// of the changes topic sees every source's seq without hole or double.
func TestKill(t *testing.T) {
	if testing.Short() {
		t.Skip("some seconds of kills")
	}
	r := newRig(t)
	s := *seed
	if s == 0 {
		s = uint64(time.Now().UnixNano())
	}
	t.Logf("%d kills, seed %d: repeat with FOLDER_KILLS=%d FOLDER_SEED=%d", *kills, s, *kills, s)
	rng := rand.New(rand.NewPCG(s, 1))
	g := agdxgen.New(agdxgen.Options{Stream: r.stream, Seed: s, Rate: loadRate, Epoch: time.UnixMilli(1_800_000_000_000), Live: 40})

	// One goroutine writes while the workers die; it alone touches the
	// expectation until it has ended.
	ctx, cancel := context.WithCancel(t.Context())
	wrote := make(chan struct{})
	go func() {
		defer close(wrote)
		began, n := time.Now(), 0
		for ctx.Err() == nil {
			for ; n < int(time.Since(began).Seconds()*loadRate); n++ {
				e, _ := g.Next()
				r.want.Add(e.Record)
				r.writer.Put(e.Record)
			}
			time.Sleep(5 * time.Millisecond)
		}
	}()

	lost, longest, useful, end := 0, time.Duration(0), 0, int64(0)
	for i := range *kills {
		r.start()
		// Mostly within the first second, where starting, restoring and the first
		// commits lie; sometimes in the middle of steady work.
		life := time.Duration(20+rng.IntN(700)) * time.Millisecond
		if rng.IntN(6) == 0 {
			life += time.Duration(rng.IntN(1500)) * time.Millisecond
		}
		longest = max(longest, life)
		time.Sleep(life)
		if err := r.worker.Ended(); err != nil {
			t.Fatalf("before kill %d of seed %d: %v", i, s, err)
		}
		r.worker.Kill()
		if n := r.changesEnd(); n > end {
			end, useful = n, useful+1
		}
		if rng.IntN(10) == 0 {
			lost++
			if err := os.RemoveAll(r.worker.Store); err != nil {
				t.Fatal(err)
			}
		}
		// Half-way the changes topic must be right as well, not only at the end.
		if i == *kills/2 {
			if err := r.seqs(); err != nil {
				t.Fatalf("after kill %d of seed %d: %v", i, s, err)
			}
		}
	}
	cancel()
	<-wrote
	r.writer.Flush()
	t.Logf("%d kills, %d lives that committed, up to %v long, %d stores lost, %d records in %d sessions",
		*kills, useful, longest, lost, r.want.Records, len(r.want.Sessions))
	if *kills >= 20 && useful < *kills/4 {
		t.Errorf("only %d of %d lives committed anything: the kills prove little on a machine this slow", useful, *kills)
	}

	r.start()
	r.await(2 * time.Minute)
	r.sameAsReplay()
	r.changesAreWhole()
	r.stop()
}
