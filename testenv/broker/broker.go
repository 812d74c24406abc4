package broker

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/twmb/franz-go/pkg/kfake"
)

// Options of an embedded broker. The zero value is one broker on a free port of
// 127.0.0.1 that keeps everything in memory.
type Options struct {
	DataDir string        // keeps topics, records, transactions and group offsets across restarts; empty: memory
	Port    int           // of 127.0.0.1; 0 is a free one
	Session time.Duration // smallest session timeout a group may ask for; 0 is 1 s
	Log     func(level, line string)
	Extra   []kfake.Opt
}

// Broker is an embedded kfake of one node.
type Broker struct {
	*kfake.Cluster
	addrs []string
	dir   string
}

// Start runs a broker until Close. Topics are never created by themselves:
// whoever needs one creates it, as on a well-kept cluster.
func Start(o Options) (*Broker, error) {
	if o.Session == 0 {
		o.Session = time.Second
	}
	opts := []kfake.Opt{
		kfake.NumBrokers(1),
		kfake.GroupMinSessionTimeout(o.Session),
		// 5 MB records must reach the topics: the worker is tested with them.
		kfake.BrokerConfigs(map[string]string{"message.max.bytes": "16777216"}),
	}
	if o.Port != 0 {
		opts = append(opts, kfake.Ports(o.Port))
	}
	if o.DataDir != "" {
		opts = append(opts, kfake.DataDir(o.DataDir))
	}
	if o.Log != nil {
		opts = append(opts, kfake.WithLogger(logger(o.Log)))
	}
	var crashed bool
	if o.DataDir != "" {
		var err error
		if crashed, err = claim(o.DataDir); err != nil {
			return nil, err
		}
	}
	c, err := kfake.NewCluster(append(opts, o.Extra...)...)
	if err != nil {
		where := o.DataDir
		if where == "" {
			where = "memory"
		}
		return nil, fmt.Errorf("broker: embedded Kafka with its data in %s on port %d: %w", where, o.Port, err)
	}
	b := &Broker{Cluster: c, addrs: c.ListenAddrs(), dir: o.DataDir}
	if crashed {
		if err := abortOpen(b.addrs); err != nil {
			b.Close()
			return nil, err
		}
	}
	return b, nil
}

// Close ends the broker. With a data directory its state is complete then.
func (b *Broker) Close() {
	b.Cluster.Close()
	if b.dir != "" {
		_ = os.Remove(filepath.Join(b.dir, runningFile))
	}
}

// Addrs are the bootstrap addresses.
func (b *Broker) Addrs() []string { return b.addrs }

type logger func(level, line string)

var levels = map[kfake.LogLevel]string{
	kfake.LogLevelError: "error", kfake.LogLevelWarn: "warn", kfake.LogLevelInfo: "info",
}

func (l logger) Logf(level kfake.LogLevel, format string, args ...any) {
	if name, ok := levels[level]; ok {
		l(name, strings.TrimSpace(fmt.Sprintf(format, args...)))
	}
}
