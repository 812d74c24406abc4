package kafka

import (
	"bytes"
	"context"
	"crypto/rand"
	"encoding/base64"
	"errors"
	"fmt"
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

// Node is one process of Apache Kafka: a combined node, or a broker or the
// controller of a Cluster.
type Node struct {
	Addr string // host:port for clients; empty for a controller

	id     int
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

// newNode writes a node's properties below dir.
func newNode(install, dir string, id int, addr string, lines []string) (*Node, error) {
	n := &Node{
		Addr: addr, id: id,
		config: filepath.Join(dir, "server.properties"),
		log:    filepath.Join(dir, "server.log"),
		java: slices.Concat([]string{"java"}, jvm, []string{
			"-Dlog4j2.configurationFile=file:" + filepath.Join(install, "log4j2.xml"),
			"-cp", filepath.Join(install, "libs", "*"),
		}),
	}
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return nil, fmt.Errorf("kafka: %w", err)
	}
	lines = append([]string{fmt.Sprintf("node.id=%d", id), "log.dirs=" + filepath.Join(dir, "data")}, lines...)
	if err := os.WriteFile(n.config, []byte(strings.Join(lines, "\n")+"\n"), 0o644); err != nil {
		return nil, fmt.Errorf("kafka: %w", err)
	}
	return n, nil
}

// clusterID makes what the storage tool calls a random uuid, without a JVM.
func clusterID() string {
	var b [16]byte
	rand.Read(b[:]) //nolint:errcheck // never fails
	b[0] &= 0x7f    // the text must not begin with a dash
	return base64.RawURLEncoding.EncodeToString(b[:])
}

// format makes the node's data directory.
func (n *Node) format(ctx context.Context, cluster string, more ...string) error {
	argv := slices.Concat(n.java, []string{"kafka.tools.StorageTool", "format", "-t", cluster, "-c", n.config}, more)
	if out, err := exec.CommandContext(ctx, argv[0], argv[1:]...).CombinedOutput(); err != nil {
		return fmt.Errorf("kafka: format %s: %w\n%s", n.config, err, bytes.TrimSpace(out))
	}
	return nil
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
	if n.Addr == "" {
		return nil // a controller answers no client
	}
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
		if brokers, err := adm.ListBrokers(ctx); err == nil && slices.Contains(brokers.NodeIDs(), int32(n.id)) {
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
	if err := n.signal(syscall.SIGKILL); err != nil || n.cmd == nil {
		return err
	}
	<-n.exited
	return nil
}

// Running says whether the process was started and has not ended.
func (n *Node) Running() bool {
	if n.cmd == nil {
		return false
	}
	select {
	case <-n.exited:
		return false
	default:
		return true
	}
}

// Pause freezes the process until Resume.
func (n *Node) Pause() error { return n.signal(syscall.SIGSTOP) }

// Resume lets a paused process run on.
func (n *Node) Resume() error { return n.signal(syscall.SIGCONT) }

func (n *Node) signal(sig syscall.Signal) error {
	if n.cmd == nil {
		return nil // never started
	}
	err := n.cmd.Process.Signal(sig)
	if errors.Is(err, os.ErrProcessDone) {
		return nil
	}
	return err
}
