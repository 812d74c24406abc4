// Command withkafka starts a real Apache Kafka node, runs a command with
// FOLDER_TEST_BROKERS pointing at it, and stops the node:
//
//	go run ./testenv/cmd/withkafka go test ./testenv/e2e/
package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"os/signal"
	"syscall"
	"time"

	"sessionfold/testenv/kafka"
)

func main() {
	code, err := run(os.Args[1:])
	if err != nil {
		fmt.Fprintln(os.Stderr, "withkafka:", err)
	}
	os.Exit(code)
}

func run(args []string) (int, error) {
	if len(args) == 0 {
		return 2, errors.New("usage: withkafka COMMAND [ARGUMENT…]")
	}
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	dir, err := os.MkdirTemp("", "withkafka-")
	if err != nil {
		return 1, err
	}
	defer os.RemoveAll(dir)
	starting, cancel := context.WithTimeout(ctx, 3*time.Minute) // includes the download
	defer cancel()
	began := time.Now()
	node, err := kafka.Start(starting, dir)
	if err != nil {
		return 1, err
	}
	defer node.Kill() //nolint:errcheck // its data goes with it
	fmt.Fprintf(os.Stderr, "withkafka: %s after %s\n", node.Addr, time.Since(began).Round(time.Millisecond))
	cmd := exec.CommandContext(ctx, args[0], args[1:]...)
	cmd.Env = append(os.Environ(), "FOLDER_TEST_BROKERS="+node.Addr)
	cmd.Stdin, cmd.Stdout, cmd.Stderr = os.Stdin, os.Stdout, os.Stderr
	cmd.Cancel = func() error { return cmd.Process.Signal(os.Interrupt) }
	if err := cmd.Run(); err != nil {
		if exit := (*exec.ExitError)(nil); errors.As(err, &exit) {
			return exit.ExitCode(), nil
		}
		return 1, err
	}
	return 0, nil
}
