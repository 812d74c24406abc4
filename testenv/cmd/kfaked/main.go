// Command kfaked runs kfake as its own process, so that a test can kill the
// worker, or the broker, and not both.
//
// It prints one line "ready ADDR" on standard output and ends when its standard
// input ends: a parent that holds the other end can die in any way and leaves
// no process behind.
package main

import (
	"flag"
	"fmt"
	"io"
	"net/http"
	_ "net/http/pprof"
	"os"
	"os/signal"
	"strings"
	"syscall"
	"time"

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
		_, _ = io.Copy(io.Discard, os.Stdin)
		close(parent)
	}()
	select {
	case <-stop:
	case <-parent:
	}
	return nil
}
