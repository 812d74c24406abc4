package kafka

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"sessionfold/testenv/proc"
)

// Start formats a data directory under dir, starts a combined node (broker and
// controller) on free loopback ports and waits until it answers metadata
// requests. Extra settings are lines of a broker's properties file and win over
// the defaults.
func Start(ctx context.Context, dir string, extra ...string) (*Node, error) {
	n, _, err := start(ctx, dir, nil, extra)
	return n, err
}

// start starts a combined node with further listeners, "NAME:PROTOCOL" each, and
// gives their addresses.
func start(ctx context.Context, dir string, more, extra []string) (*Node, []string, error) {
	install, err := Install(ctx)
	if err != nil {
		return nil, nil, err
	}
	ports, err := proc.Ports(2 + len(more))
	if err != nil {
		return nil, nil, fmt.Errorf("kafka: no free port: %w", err)
	}
	addr, controller := fmt.Sprintf("127.0.0.1:%d", ports[0]), fmt.Sprintf("127.0.0.1:%d", ports[1])
	listeners, protocols, addrs := "PLAINTEXT://"+addr+",CONTROLLER://"+controller, "CONTROLLER:PLAINTEXT,PLAINTEXT:PLAINTEXT", []string{}
	for i, l := range more {
		name, _, _ := strings.Cut(l, ":")
		addrs = append(addrs, fmt.Sprintf("127.0.0.1:%d", ports[2+i]))
		listeners, protocols = listeners+","+name+"://"+addrs[i], protocols+","+l
	}
	n, err := newNode(install, dir, 1, addr, slices.Concat(small, replicas(1), []string{
		"process.roles=broker,controller",
		"controller.quorum.bootstrap.servers=" + controller,
		"listeners=" + listeners,
		"advertised.listeners=" + listeners,
		"listener.security.protocol.map=" + protocols,
		"inter.broker.listener.name=PLAINTEXT",
	}, extra))
	if err != nil {
		return nil, nil, err
	}
	if err := n.format(ctx, clusterID(), "--standalone"); err != nil {
		return nil, nil, err
	}
	if err := n.Restart(ctx); err != nil {
		return nil, nil, err
	}
	return n, addrs, nil
}

// replicas are the settings of internal topics with n copies.
func replicas(n int) []string {
	return []string{
		fmt.Sprintf("offsets.topic.replication.factor=%d", n),
		fmt.Sprintf("transaction.state.log.replication.factor=%d", n),
		fmt.Sprintf("transaction.state.log.min.isr=%d", (n+1)/2),
		fmt.Sprintf("share.coordinator.state.topic.replication.factor=%d", n),
		fmt.Sprintf("share.coordinator.state.topic.min.isr=%d", (n+1)/2),
	}
}

// small are the settings of a node of about half a gibibyte that cleans, checks
// retention and forms groups within seconds.
var small = []string{
	"controller.listener.names=CONTROLLER",
	"listener.security.protocol.map=CONTROLLER:PLAINTEXT,PLAINTEXT:PLAINTEXT",
	"auto.create.topics.enable=false",
	"group.initial.rebalance.delay.ms=0",
	"group.min.session.timeout.ms=1000",
	"offsets.topic.num.partitions=1",
	"transaction.state.log.num.partitions=1",
	"num.network.threads=1",
	"num.io.threads=2",
	"background.threads=2",
	"log.cleaner.dedupe.buffer.size=4194304",
	"log.cleaner.backoff.ms=500",
	"log.retention.check.interval.ms=1000",
	"log.index.size.max.bytes=1048576",
}
