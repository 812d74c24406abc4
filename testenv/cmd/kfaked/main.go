// Command kfaked runs kfake as its own process, so that a test can kill the
// worker, or the broker, and not both.
//
// It prints one line "ready ADDR" on standard output and ends when its standard
// input ends: a parent that holds the other end can die in any way and leaves
// no process behind. A line "watch TOPIC" on standard input is answered by
// "watching TOPIC", and once by "fetched TOPIC NANOSECONDS" (since the epoch)
// when the next fetch request for the topic comes in.
package main

import (
	"bufio"
	"flag"
	"fmt"
	"net/http"
	_ "net/http/pprof"
	"os"
	"os/signal"
	"strings"
	"syscall"
	"time"

	"github.com/twmb/franz-go/pkg/kfake"
	"github.com/twmb/franz-go/pkg/kmsg"

	"sessionfold/testenv/broker"
)

func main() {
	dir := flag.String("data-dir", "", "keep topics, records and offsets in this directory; empty: in memory")
	port := flag.Int("port", 0, "port of 127.0.0.1; 0: a free one")
	session := flag.Duration("min-session", time.Second, "smallest session timeout a group may ask for")
	prof := flag.String("pprof", "", "address for net/http/pprof; empty: none")
	verbose := flag.Bool("v", false, "log warnings and errors of the broker to standard error")
	flag.Parse()

	if err := run(*dir, *port, *session, *prof, *verbose); err != nil {
		fmt.Fprintln(os.Stderr, "kfaked:", err)
		os.Exit(1)
	}
}

func run(dir string, port int, session time.Duration, prof string, verbose bool) error {
	o := broker.Options{DataDir: dir, Port: port, Session: session}
	if verbose {
		o.Log = func(level, line string) {
			if level != "info" {
				fmt.Fprintln(os.Stderr, "kfaked:", level, line)
			}
		}
	}
	b, err := broker.Start(o)
	if err != nil {
		return err
	}
	defer b.Close()
	if prof != "" {
		go func() { fmt.Fprintln(os.Stderr, "kfaked: pprof:", http.ListenAndServe(prof, nil)) }()
	}
	fmt.Println("ready", strings.Join(b.Addrs(), ","))

	stop := make(chan os.Signal, 1)
	signal.Notify(stop, os.Interrupt, syscall.SIGTERM)
	parent := make(chan struct{})
	go func() {
		for in := bufio.NewScanner(os.Stdin); in.Scan(); {
			if topic, ok := strings.CutPrefix(in.Text(), "watch "); ok {
				watch(b, topic)
			}
		}
		close(parent)
	}()
	select {
	case <-stop:
	case <-parent:
	}
	return nil
}

// watch tells when the next fetch of a topic comes in.
func watch(b *broker.Broker, topic string) {
	seen := make(chan time.Time, 1)
	h := b.Fault(kfake.Fault{Keys: []kmsg.Key{kmsg.Fetch}, Topic: topic, Observe: true, Count: -1, When: func(kmsg.Request) bool {
		select {
		case seen <- time.Now():
		default:
		}
		return true
	}})
	fmt.Println("watching", topic)
	go func() {
		at := <-seen
		h.Remove()
		fmt.Println("fetched", topic, at.UnixNano())
	}()
}
