package kafka

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"time"

	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kgo"
)

// Node is one broker process in combined mode (broker and controller), with
// replication factor 1 for the internal topics.
type Node struct {
	Addr string // host:port for clients

	java   []string
	config string
	log    string
	cmd    *exec.Cmd
	exited chan struct{}
}

// jvm keeps a broker at about half a gibibyte and quick to start.
var jvm = []string{
	"-Xms128m", "-Xmx384m", "-XX:+UseSerialGC", "-XX:TieredStopAtLevel=1", "-XX:MaxMetaspaceSize=192m",
	"-Xshare:auto", "-Djava.awt.headless=true",
}

// Start formats a data directory under dir, starts a node on free loopback ports
// and waits until it answers metadata requests. Extra settings are lines of a
// broker's properties file and win over the defaults.
func Start(ctx context.Context, dir string, extra ...string) (*Node, error) {
	install, err := Install(ctx)
	if err != nil {
		return nil, err
	}
	ports, err := freePorts(2)
	if err != nil {
		return nil, fmt.Errorf("kafka: no free port: %w", err)
	}
	n := &Node{
		Addr:   fmt.Sprintf("127.0.0.1:%d", ports[0]),
		config: filepath.Join(dir, "server.properties"),
		log:    filepath.Join(dir, "server.log"),
		java: slices.Concat([]string{"java"}, jvm, []string{
			"-Dlog4j2.configurationFile=file:" + filepath.Join(install, "log4j2.xml"),
			"-cp", filepath.Join(install, "libs", "*"),
		}),
	}
	lines := append(settings(n.Addr, fmt.Sprintf("127.0.0.1:%d", ports[1]), filepath.Join(dir, "data")), extra...)
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return nil, fmt.Errorf("kafka: %w", err)
	}
	if err := os.WriteFile(n.config, []byte(strings.Join(lines, "\n")+"\n"), 0o644); err != nil {
		return nil, fmt.Errorf("kafka: %w", err)
	}
	id, err := n.tool(ctx, "random-uuid")
	if err != nil {
		return nil, err
	}
	if _, err := n.tool(ctx, "format", "--standalone", "-t", id, "-c", n.config); err != nil {
		return nil, err
	}
	if err := n.Restart(ctx); err != nil {
		return nil, err
	}
	return n, nil
}

// settings are those of a small combined node that fails over, cleans and
// checks retention within seconds.
func settings(addr, controller, data string) []string {
	return []string{
		"process.roles=broker,controller",
		"node.id=1",
		"controller.quorum.bootstrap.servers=" + controller,
		"listeners=PLAINTEXT://" + addr + ",CONTROLLER://" + controller,
		"advertised.listeners=PLAINTEXT://" + addr + ",CONTROLLER://" + controller,
		"inter.broker.listener.name=PLAINTEXT",
		"controller.listener.names=CONTROLLER",
		"listener.security.protocol.map=CONTROLLER:PLAINTEXT,PLAINTEXT:PLAINTEXT",
		"log.dirs=" + data,
		"offsets.topic.replication.factor=1",
		"transaction.state.log.replication.factor=1",
		"transaction.state.log.min.isr=1",
		"share.coordinator.state.topic.replication.factor=1",
		"share.coordinator.state.topic.min.isr=1",
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
}

func (n *Node) tool(ctx context.Context, args ...string) (string, error) {
	argv := slices.Concat(n.java, []string{"kafka.tools.StorageTool"}, args)
	out, err := exec.CommandContext(ctx, argv[0], argv[1:]...).CombinedOutput()
	if err != nil {
		return "", fmt.Errorf("kafka: storage tool %s: %w\n%s", args[0], err, bytes.TrimSpace(out))
	}
	lines := strings.Fields(string(out))
	if len(lines) == 0 {
		return "", fmt.Errorf("kafka: storage tool %s printed nothing", args[0])
	}
	return lines[len(lines)-1], nil
}

// Restart starts the process again after Stop or Kill and waits until it serves.
func (n *Node) Restart(ctx context.Context) error {
	log, err := os.OpenFile(n.log, os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o644)
	if err != nil {
		return fmt.Errorf("kafka: %w", err)
	}
	defer log.Close()
	argv := slices.Concat(n.java, []string{"kafka.Kafka", n.config})
	n.cmd = exec.Command(argv[0], argv[1:]...)
	n.cmd.Stdout, n.cmd.Stderr = log, log
	n.cmd.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL}
	if err := n.cmd.Start(); err != nil {
		return fmt.Errorf("kafka: start the broker: %w", err)
	}
	n.exited = make(chan struct{})
	go func(cmd *exec.Cmd, exited chan struct{}) {
		cmd.Wait() //nolint:errcheck // how it ended shows in its log
		close(exited)
	}(n.cmd, n.exited)
	return n.ready(ctx)
}

// ready asks for metadata until the broker lists itself; logs are not parsed.
func (n *Node) ready(ctx context.Context) error {
	cl, err := kgo.NewClient(kgo.SeedBrokers(n.Addr), kgo.RetryTimeout(time.Second), kgo.RequestRetries(0))
	if err != nil {
		return fmt.Errorf("kafka: %w", err)
	}
	defer cl.Close()
	adm := kadm.NewClient(cl)
	tick := time.NewTicker(100 * time.Millisecond)
	defer tick.Stop()
	for {
		if brokers, err := adm.ListBrokers(ctx); err == nil && len(brokers) > 0 {
			return nil
		}
		select {
		case <-ctx.Done():
			return errors.Join(fmt.Errorf("kafka: the broker does not answer: %w; its log ends:\n%s", ctx.Err(), n.tail()), n.Kill())
		case <-n.exited:
			return fmt.Errorf("kafka: the broker ended while starting; its log ends:\n%s", n.tail())
		case <-tick.C:
		}
	}
}

func (n *Node) tail() []byte {
	b, _ := os.ReadFile(n.log)
	if len(b) > 4096 {
		b = b[len(b)-4096:]
	}
	return b
}

// Stop is a controlled shutdown; it ends the process by force when ctx ends first.
func (n *Node) Stop(ctx context.Context) error {
	if err := n.signal(syscall.SIGTERM); err != nil {
		return err
	}
	select {
	case <-n.exited:
		return nil
	case <-ctx.Done():
		return errors.Join(ctx.Err(), n.Kill())
	}
}

// Kill is a crash.
func (n *Node) Kill() error {
	if err := n.signal(syscall.SIGKILL); err != nil {
		return err
	}
	<-n.exited
	return nil
}

// Pause freezes the process until Resume.
func (n *Node) Pause() error { return n.signal(syscall.SIGSTOP) }

// Resume lets a paused process run on.
func (n *Node) Resume() error { return n.signal(syscall.SIGCONT) }

func (n *Node) signal(sig syscall.Signal) error {
	err := n.cmd.Process.Signal(sig)
	if errors.Is(err, os.ErrProcessDone) {
		return nil
	}
	return err
}

func freePorts(count int) ([]int, error) {
	var ports []int
	for range count {
		l, err := net.Listen("tcp", "127.0.0.1:0")
		if err != nil {
			return nil, err
		}
		defer l.Close()
		ports = append(ports, l.Addr().(*net.TCPAddr).Port)
	}
	return ports, nil
}
