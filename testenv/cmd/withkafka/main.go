// Command withkafka starts a real Apache Kafka node, runs a command with
// FOLDER_TEST_BROKERS pointing at it, and stops the node:
//
//	go run ./testenv/cmd/withkafka go test ./testenv/e2e/
//
// With -secure the node asks for TLS, logins and rights, and FOLDER_TEST_SECURE
// says where it is (kafka.Secured).
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"syscall"
	"time"

	"sessionfold/testenv"
	"sessionfold/testenv/kafka"
)

func main() {
	secure := flag.Bool("secure", false, "a node that asks for TLS, logins and rights")
	flag.Usage = func() { fmt.Fprintln(os.Stderr, "usage: withkafka [-secure] COMMAND [ARGUMENT…]") }
	flag.Parse()
	if flag.NArg() == 0 {
		flag.Usage()
		os.Exit(2)
	}
	code, err := run(*secure, flag.Args())
	if err != nil {
		fmt.Fprintln(os.Stderr, "withkafka:", err)
	}
	os.Exit(code)
}

func run(secure bool, args []string) (int, error) {
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
	stopNode, env, err := start(starting, dir, secure)
	if err != nil {
		return 1, err
	}
	defer stopNode()
	fmt.Fprintf(os.Stderr, "withkafka: %s after %s\n", env, time.Since(began).Round(time.Millisecond))
	cmd := exec.CommandContext(ctx, args[0], args[1:]...)
	cmd.Env = append(os.Environ(), env)
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

// start starts a node and gives the variable that tells of it.
func start(ctx context.Context, dir string, secure bool) (stop func(), env string, err error) {
	if secure {
		node, err := kafka.StartSecure(ctx, dir)
		if err != nil {
			return nil, "", err
		}
		file := filepath.Join(dir, "node.json")
		return node.Close, kafka.SecureVar + "=" + file, node.Describe(file)
	}
	node, err := kafka.Start(ctx, dir)
	if err != nil {
		return nil, "", err
	}
	return func() { _ = node.Kill() }, testenv.BrokersVar + "=" + node.Addr, nil // its data goes with it
}
