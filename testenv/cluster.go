package testenv

import (
	"context"
	"os"
	"sync"
	"testing"
	"time"

	"sessionfold/testenv/kafka"
)

// shared is the cluster of this process: starting one takes longer than most
// tests.
var shared struct {
	sync.Mutex
	c   *kafka.Cluster
	dir string
	err error
}

// Cluster gives a test a controller and three brokers of Apache Kafka, all of
// them running. They are shared by the tests of the process, which may stop and
// kill them but not in parallel. TestMain ends with StopCluster.
func Cluster(tb testing.TB) (*Kafka, *kafka.Cluster) {
	tb.Helper()
	if testing.Short() {
		tb.Skip("four JVMs")
	}
	kafka.Need(tb)
	ctx, cancel := context.WithTimeout(context.Background(), 5*time.Minute) // includes the download
	defer cancel()
	shared.Lock()
	defer shared.Unlock()
	switch {
	case shared.err != nil:
		tb.Fatal(shared.err)
	case shared.c == nil:
		began := time.Now()
		if shared.dir, shared.err = os.MkdirTemp("", "kafka-cluster-"); shared.err != nil {
			tb.Fatal(shared.err)
		}
		if shared.c, shared.err = kafka.StartCluster(ctx, shared.dir); shared.err != nil {
			tb.Fatal(shared.err)
		}
		tb.Logf("the cluster is usable after %s", time.Since(began).Round(100*time.Millisecond))
	default:
		if err := shared.c.Heal(ctx); err != nil {
			tb.Fatal(err)
		}
	}
	return connect(tb, &Kafka{Addrs: shared.c.Addrs, Real: true}), shared.c
}

// StopCluster ends the cluster, if any.
func StopCluster() {
	shared.Lock()
	defer shared.Unlock()
	if shared.c != nil {
		shared.c.Close()
		shared.c = nil
	}
	_ = os.RemoveAll(shared.dir)
}
