package kafka

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"sync"
	"time"

	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kgo"

	"sessionfold/testenv/proc"
)

// Brokers is how many brokers a Cluster has.
const Brokers = 3

// Cluster is a controller and three brokers, each a process of its own, so that
// whatever happens to a broker the quorum stays. Topics get three replicas, of
// which two must have a record before it counts as written.
type Cluster struct {
	Controller *Node
	Broker     map[int32]*Node // by node id, 1 to Brokers
	Addrs      []string
}

// quick makes a cluster notice a broker that is gone, and elect, in seconds.
var quick = []string{
	"broker.heartbeat.interval.ms=500",
	"broker.session.timeout.ms=3000",
	"replica.lag.time.max.ms=3000",
	"replica.fetch.wait.max.ms=200",
	"default.replication.factor=3",
	"controlled.shutdown.enable=true",
	"leader.imbalance.check.interval.seconds=5",
	"unclean.leader.election.interval.ms=1000",
}

// StartCluster formats directories below dir and starts the cluster; it is ready
// when every broker lists all three and a topic can be made with three replicas.
func StartCluster(ctx context.Context, dir string, extra ...string) (*Cluster, error) {
	install, err := Install(ctx)
	if err != nil {
		return nil, err
	}
	ports, err := proc.Ports(1 + Brokers)
	if err != nil {
		return nil, fmt.Errorf("kafka: no free port: %w", err)
	}
	c := &Cluster{Broker: map[int32]*Node{}}
	controller := fmt.Sprintf("127.0.0.1:%d", ports[0])
	common := slices.Concat(small, replicas(Brokers), quick, extra, []string{"controller.quorum.bootstrap.servers=" + controller})
	c.Controller, err = newNode(install, filepath.Join(dir, "controller"), 100, "", append([]string{
		"process.roles=controller", "listeners=CONTROLLER://" + controller, "advertised.listeners=CONTROLLER://" + controller,
	}, common...))
	if err != nil {
		return nil, err
	}
	for i := int32(1); i <= Brokers; i++ {
		addr := fmt.Sprintf("127.0.0.1:%d", ports[i])
		c.Broker[i], err = newNode(install, filepath.Join(dir, fmt.Sprintf("broker-%d", i)), int(i), addr, append([]string{
			"process.roles=broker", "listeners=PLAINTEXT://" + addr, "advertised.listeners=PLAINTEXT://" + addr, "inter.broker.listener.name=PLAINTEXT",
		}, common...))
		if err != nil {
			return nil, err
		}
		c.Addrs = append(c.Addrs, addr)
	}
	if err := c.start(ctx); err != nil {
		c.Close()
		return nil, err
	}
	return c, nil
}

func (c *Cluster) start(ctx context.Context) error {
	id := clusterID()
	if err := c.each(func(n *Node) error {
		if n == c.Controller {
			return n.format(ctx, id, "--standalone")
		}
		return n.format(ctx, id)
	}); err != nil {
		return err
	}
	if err := c.each(func(n *Node) error { return n.Restart(ctx) }); err != nil {
		return err
	}
	return c.usable(ctx)
}

// usable waits until topics can be made with all replicas, and sets the number
// of replicas in sync that a write needs. That is a setting of the cluster: with
// eligible leader replicas, which new clusters have, a broker's own is ignored.
func (c *Cluster) usable(ctx context.Context) error {
	cl, err := kgo.NewClient(kgo.SeedBrokers(c.Addrs...), kgo.RetryTimeout(2*time.Second), kgo.MetadataMinAge(100*time.Millisecond))
	if err != nil {
		return fmt.Errorf("kafka: %w", err)
	}
	defer cl.Close()
	adm := kadm.NewClient(cl)
	for {
		err := func() error {
			two := "2"
			rs, err := adm.AlterBrokerConfigs(ctx, []kadm.AlterConfig{{Op: kadm.SetConfig, Name: "min.insync.replicas", Value: &two}})
			for _, r := range rs {
				err = errors.Join(err, r.Err)
			}
			if err != nil {
				return err
			}
			v, err := adm.ValidateCreateTopics(ctx, 1, Brokers, nil, "usable")
			return errors.Join(err, v.Error())
		}()
		if err == nil {
			return nil
		}
		select {
		case <-ctx.Done():
			return fmt.Errorf("kafka: the cluster does not become usable: %w (last: %w)", ctx.Err(), err)
		case <-time.After(100 * time.Millisecond):
		}
	}
}

// each calls f for every node at once and joins the errors.
func (c *Cluster) each(f func(*Node) error) error {
	nodes := []*Node{c.Controller}
	for _, n := range c.Broker {
		nodes = append(nodes, n)
	}
	errs := make([]error, len(nodes))
	var wg sync.WaitGroup
	for i, n := range nodes {
		wg.Go(func() { errs[i] = f(n) })
	}
	wg.Wait()
	return errors.Join(errs...)
}

// Heal lets paused nodes run on and starts those that have ended.
func (c *Cluster) Heal(ctx context.Context) error {
	if err := c.each(func(n *Node) error {
		if n.Running() {
			return n.Resume()
		}
		return n.Restart(ctx)
	}); err != nil {
		return err
	}
	return c.usable(ctx)
}

// Close ends every process at once.
func (c *Cluster) Close() {
	_ = c.each((*Node).Kill) // its data goes with it
}
