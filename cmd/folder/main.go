// Command folder folds the records that AI agents leave on Kafka into a
// queryable index of sessions, exactly once, and serves reads of it over HTTP.
package main

import (
	"context"
	"os"
)

func main() {
	os.Exit(run(os.Args[1:], os.Stdout, os.Stderr, os.Environ()))
}

// run is the whole program: its result is the exit code. 0 is success, 1 a
// failure, 2 a bad configuration or command line, 3 a store that cannot be used.
func run(args []string, stdout, stderr *os.File, env []string) int {
	ctx, stop := withSignals(context.Background(), stderr)
	defer stop()
	c := &cli{out: stdout, err: stderr, env: env}
	root := newRoot(c)
	root.SetArgs(args)
	return c.exitCode(root.ExecuteContext(ctx))
}
