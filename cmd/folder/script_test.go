package main

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/rogpeppe/go-internal/testscript"
	"github.com/twmb/franz-go/pkg/kgo"

	"sessionfold/cmd/folder/internal/replay"
	"sessionfold/testenv/agdxlog"
	"sessionfold/testenv/feed"
	"sessionfold/testenv/nativegen"
	"sessionfold/testenv/proc"
	"sessionfold/wire"
)

func TestMain(m *testing.M) {
	testscript.Main(m, map[string]func(){"folder": main})
}

// TestScripts runs the command line as a person does.
func TestScripts(t *testing.T) {
	p := params()
	p.Dir = "testdata/script"
	testscript.Run(t, p)
}

func params() testscript.Params {
	return testscript.Params{
		Setup:     setup,
		Condition: condition,
		Cmds: map[string]func(*testscript.TestScript, bool, []string){
			"status": cmdStatus,
			"await":  cmdAwait,
			"log":    cmdLog,
			"write":  cmdWrite,
			"set":    cmdSet,
			"fetch":  cmdFetch,
			"native": cmdNative,
			"fill":   cmdFill,
		},
	}
}

// condition mounts: a process may mount file systems of its own here.
func condition(name string) (bool, error) {
	if name != "mounts" {
		return false, fmt.Errorf("no condition %q", name)
	}
	return exec.Command("unshare", "-rm", "mount", "-t", "tmpfs", "none", os.TempDir()).Run() == nil, nil
}

func topicsOfStream(stream string) []string {
	var out []string
	for _, t := range wire.TopicsOf(stream) {
		out = append(out, t.Topic)
	}
	return out
}

// setup gives every script free ports, because scripts run at the same time.
func setup(env *testscript.Env) error {
	names := []string{"READS", "ADMIN", "KAFKA", "READS2", "ADMIN2"}
	ports, err := proc.Ports(len(names))
	if err != nil {
		return err
	}
	for i, name := range names {
		port := strconv.Itoa(ports[i])
		env.Setenv(name, "127.0.0.1:"+port)
		env.Setenv(name+"_PORT", port)
	}
	env.Setenv("FOLDER_HTTP_LISTEN", env.Getenv("READS"))
	env.Setenv("FOLDER_ADMIN_LISTEN", env.Getenv("ADMIN"))
	env.Setenv("FOLDER_URL", "http://"+env.Getenv("READS")+"/agdx")
	return nil
}

// status N cmd… runs a command and wants its exit code.
func cmdStatus(ts *testscript.TestScript, neg bool, args []string) {
	want, err := strconv.Atoi(args[0])
	ts.Check(err)
	err = ts.Exec(args[1], args[2:]...)
	got := 0
	if e, ok := err.(*exec.ExitError); ok {
		got = e.ExitCode()
	} else {
		ts.Check(err)
	}
	if got != want {
		ts.Fatalf("exit code %d, want %d", got, want)
	}
}

// await 'regexp' cmd… runs a command again and again until it succeeds and its
// output matches.
func cmdAwait(ts *testscript.TestScript, neg bool, args []string) {
	re, err := regexp.Compile(args[0])
	ts.Check(err)
	ctx, cancel := context.WithTimeout(context.Background(), 30*time.Second)
	defer cancel()
	pause := time.NewTicker(50 * time.Millisecond)
	defer pause.Stop()
	var last string
	for {
		// Not ts.Exec, which would write every try into the transcript.
		cmd := exec.CommandContext(ctx, args[1], args[2:]...)
		cmd.Dir, cmd.Env = ts.Getenv("WORK"), os.Environ()
		for _, name := range []string{"FOLDER_URL", "FOLDER_ADMIN_LISTEN", "FOLDER_KAFKA_BROKERS", "KAFKA", "READS2", "WORK", "PATH"} {
			cmd.Env = append(cmd.Env, name+"="+ts.Getenv(name))
		}
		out, err := cmd.CombinedOutput()
		if err == nil && re.Match(out) {
			return
		}
		if ctx.Err() == nil {
			last = fmt.Sprintf("%v\n%s", err, out)
		}
		select {
		case <-ctx.Done():
			ts.Fatalf("%s does not give %s: %s", strings.Join(args[1:], " "), re, last)
		case <-pause.C:
		}
	}
}

// set NAME file 'regexp' takes the first group of a match in a file.
func cmdSet(ts *testscript.TestScript, neg bool, args []string) {
	m := regexp.MustCompile(args[2]).FindStringSubmatch(ts.ReadFile(args[1]))
	if len(m) < 2 {
		ts.Fatalf("%s does not match %s:\n%s", args[1], args[2], ts.ReadFile(args[1]))
	}
	ts.Setenv(args[0], m[1])
}

// log DIR writes a small log: one file per role, known sessions.
func cmdLog(ts *testscript.TestScript, neg bool, args []string) {
	dir := ts.MkAbs(args[0])
	ts.Check(os.MkdirAll(dir, 0o755))
	l, sessions := smallLog()
	out, next := map[string][]byte{}, map[string]uint64{}
	for i, r := range l.Records {
		tp := wire.TopicPartition{Topic: r.Topic}
		raw := wire.Raw{Offset: next[r.Topic], Timestamp: smallLogTime(i), Key: r.Key, Value: r.Value, Headers: r.Headers}
		next[r.Topic]++
		b, err := replay.AppendRecord(out[r.Topic], tp, &raw)
		ts.Check(err)
		out[r.Topic] = b
	}
	for topic, b := range out {
		ts.Check(os.WriteFile(filepath.Join(dir, topic+".ndjson"), b, 0o644))
	}
	for name, s := range sessions {
		ts.Setenv(name, s.ID.String())
	}
	ts.Logf("%d records in %s", len(l.Records), fmt.Sprint(len(out)))
}

// write BROKER writes the same log to the topics of its stream.
func cmdWrite(ts *testscript.TestScript, neg bool, args []string) {
	ctx, cancel := context.WithTimeout(context.Background(), 30*time.Second)
	defer cancel()
	l, sessions := smallLog()
	f, err := feed.New(args)
	ts.Check(err)
	_, err = f.Prepare(ctx, wire.TopicsOf(l.Stream), 1)
	f.Close()
	ts.Check(err)
	cl, err := kgo.NewClient(kgo.SeedBrokers(args...))
	ts.Check(err)
	defer cl.Close()
	for i, r := range l.Records {
		k := &kgo.Record{Topic: r.Topic, Key: r.Key, Value: r.Value, Timestamp: time.UnixMilli(smallLogTime(i))}
		for _, h := range r.Headers {
			k.Headers = append(k.Headers, kgo.RecordHeader{Key: h.Key, Value: h.Value})
		}
		ts.Check(cl.ProduceSync(ctx, k).FirstErr())
	}
	for name, s := range sessions {
		ts.Setenv(name, s.ID.String())
	}
}

// smallLogTime is the time of a record, in ms.
func smallLogTime(i int) int64 { return 1_764_000_000_000 + int64(i)*1000 }

// smallLog is a log with a session of each kind; they are known by the names of
// variables.
func smallLog() (*agdxlog.Log, map[string]*agdxlog.Session) {
	l := agdxlog.New("agents")
	a := l.Session("first", "planner")
	a.Start(agdxlog.Start{Label: "fix the login", Tags: []string{"team-a"}})
	a.User("please")
	a.Model("large-1", agdxlog.Tokens{In: 120, Out: 30, CostMicros: 2500})
	a.Tool("grep", `{"pattern":"login"}`, `{"hits":3}`)
	b := a.Child(agdxlog.NameID("child"), "coder")
	b.Start(agdxlog.Start{Label: "write the patch"})
	b.Model("small-1", agdxlog.Tokens{In: 50, Out: 10, CostMicros: -1})
	b.ToolFails("apply", `{"file":"a.go"}`, "it does not apply")
	b.End(wire.TaskFailed, "gave up")
	a.End(wire.TaskCompleted, "done")
	c := l.Session("open", "watcher")
	c.Start(agdxlog.Start{Label: "watch"})
	c.Undecodable(wire.RoleLane)
	a.Pause("planner")
	c.StateDelta(0, "op-1", "/seen", "nothing")
	c.StateDelta(0, "op-2", "/seen", "too late")
	c.Remember("m-1", "fact", "blue")
	c.Link(wire.RoleLane, agdxlog.Resource{Surface: "kv", Resource: "notes", Item: "todo", Relation: "wrote"})
	c.Stream(wire.OpChat, 2)
	d := b.Child(agdxlog.NameID("grandchild"), "tester")
	d.Start(agdxlog.Start{Label: "try it"})
	return l, map[string]*agdxlog.Session{"FIRST": a, "CHILD": b, "OPEN": c, "GRANDCHILD": d}
}

// native DIR writes logs as DeepStrike and Everruns leave them: a file for each
// session, and an export.
func cmdNative(ts *testscript.TestScript, neg bool, args []string) {
	dir := ts.MkAbs(args[0])
	ts.Check(os.MkdirAll(dir, 0o755))
	for _, d := range []wire.Dialect{wire.DialectDeepStrike, wire.DialectEverruns} {
		g := nativegen.New(nativegen.Options{Dialect: d, Seed: 11, Sessions: 40, Rate: 100, Epoch: time.UnixMilli(smallLogTime(0))})
		_, err := g.WriteFiles(dir)
		ts.Check(err)
	}
}

// fetch FILE URL keeps the body of a successful answer; negated, of another one.
func cmdFetch(ts *testscript.TestScript, neg bool, args []string) {
	c := http.Client{Timeout: 10 * time.Second}
	res, err := c.Get(args[1])
	ts.Check(err)
	defer res.Body.Close()
	body, err := io.ReadAll(res.Body)
	ts.Check(err)
	if (res.StatusCode != http.StatusOK) != neg {
		ts.Fatalf("%s: status %d\n%s", args[1], res.StatusCode, body)
	}
	ts.Check(os.WriteFile(ts.MkAbs(args[0]), body, 0o644))
}

// fill FILE puts the values of variables in, which files of a script lack.
func cmdFill(ts *testscript.TestScript, neg bool, args []string) {
	file := ts.MkAbs(args[0])
	ts.Check(os.WriteFile(file, []byte(os.Expand(ts.ReadFile(args[0]), ts.Getenv)), 0o644))
}
