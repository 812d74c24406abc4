package main

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/rogpeppe/go-internal/testscript"
)

// blocks gives the fenced blocks of a language.
func blocks(text, lang string) []string {
	var out []string
	for _, m := range regexp.MustCompile("(?s)```"+lang+"\n(.*?)```").FindAllStringSubmatch(text, -1) {
		out = append(out, m[1])
	}
	return out
}

// makeRuns sees that a target of the Makefile runs a command, so that the test
// may run that instead.
func makeRuns(t *testing.T, target, command string) {
	t.Helper()
	b, err := os.ReadFile("../../Makefile")
	if err != nil {
		t.Fatal(err)
	}
	if !regexp.MustCompile(`(?m)^` + target + `:.*\n\t` + command).Match(b) {
		t.Errorf("make %s does not run %s", target, command)
	}
}

// walk makes a script of a document's commands. Only addresses and directories
// are replaced, because tests run at the same time.
type walk struct {
	t       *testing.T
	script  strings.Builder
	replace *strings.Replacer
	listens string // who serves reads of what was run, as the script names it
	done    string // what reads of it say when all is folded
	stop    bool   // what was run is stopped at once, so that what follows meets the demo
	running []string
	ran     []string
}

func (w *walk) say(format string, args ...any) { fmt.Fprintf(&w.script, format+"\n", args...) }

// blocks takes the commands of a document's blocks, and gives its one block of
// YAML.
func (w *walk) blocks(text string) (yaml string) {
	for _, block := range blocks(text, "sh") {
		for line := range strings.SplitSeq(strings.TrimSpace(block), "\n") {
			w.line(line)
			w.ran = append(w.ran, line)
		}
	}
	for i := len(w.running) - 1; i >= 0; i-- {
		w.say("kill -INT %s\nwait %s", w.running[i], w.running[i])
	}
	all := blocks(text, "yaml")
	if len(all) != 1 {
		w.t.Fatalf("%d blocks of YAML, want the one of folder.yaml", len(all))
	}
	return all[0]
}

func (w *walk) line(line string) {
	command := w.replace.Replace(line)
	first, rest, _ := strings.Cut(command, " ")
	switch {
	case line == "make demo" || line == "bin/folder demo":
		makeRuns(w.t, "demo", `\$\(BIN\)/folder demo --dir`)
		w.say("exec folder demo --dir d --sessions 10 --rate 0 --kafka-port $KAFKA_PORT &demo&")
		w.say("await '(?m)^10 sessions match' folder sessions list --limit 1 --total")
		w.running = append(w.running, "demo")
	case line == "make build":
		makeRuns(w.t, "build", `\$\(GO\) build -o \$\(BIN\)/folder \./cmd/folder`)
	case line == "make test":
		makeRuns(w.t, "test", `\$\(GO\) test .*\./\.\.\.`)
	case first == "export":
		w.say("env %s", rest)
	case first == "curl":
		w.say("fetch answer %s\ngrep . answer", strings.Trim(strings.TrimPrefix(rest, "-s "), "'"))
	case first == "go": // in the module, with the caches of the one who tests
		w.say("exec go run -C $ROOT %s", strings.TrimPrefix(rest, "run "))
		w.say("await '%s' folder sessions list --stream agents --url http://%s/agdx --limit 1 --total", w.done, w.listens)
	case first != "bin/folder":
		w.t.Errorf("%q is run by nothing", line)
	case strings.HasPrefix(rest, "run "):
		w.say("env FOLDER_HTTP_LISTEN=$READS2\nenv FOLDER_ADMIN_LISTEN=$ADMIN2\nenv FOLDER_KAFKA_BROKERS=$KAFKA\nenv FOLDER_OUTPUT_REPLICATION_FACTOR=1")
		w.say("exec folder %s &run&", rest)
		if w.stop {
			w.say("await '%s' folder sessions list --url http://%s/agdx --limit 1 --total\nkill -INT run\nwait run", w.done, w.listens)
		} else {
			w.running = append(w.running, "run")
		}
	case strings.HasPrefix(rest, "verify "):
		w.say("exec folder %s\nstdout '^equal$'", rest)
	case strings.Contains(rest, "$ID"):
		list := strings.Fields(rest)
		w.say("exec folder sessions list --json %s\ncp stdout list\nset ID list '\"id\":\"([0-9A-Z]{26})\"'", strings.Join(list[2:len(list)-1], " "))
		w.say("exec folder %s\nstdout .", rest)
	default:
		w.say("exec folder %s\nstdout .", rest)
	}
}

func (w *walk) run(name, yaml string, least int) {
	w.t.Helper()
	if len(w.ran) < least {
		w.t.Fatalf("only %d commands found in %s: %q", len(w.ran), name, w.ran)
	}
	w.say("-- folder.yaml --\n%s", yaml)
	file := filepath.Join(w.t.TempDir(), name+".txtar")
	if err := os.WriteFile(file, []byte(w.script.String()), 0o644); err != nil {
		w.t.Fatal(err)
	}
	p := params()
	p.Files = []string{file}
	testscript.Run(w.t, p)
}

// TestReadmeCommands runs the commands of README.md: those of the demo against
// a demo, those of a deployment against its broker.
func TestReadmeCommands(t *testing.T) {
	b, err := os.ReadFile("../../README.md")
	if err != nil {
		t.Fatal(err)
	}
	w := &walk{t: t, listens: "$READS2", done: "(?m)^10 sessions match", stop: true, replace: strings.NewReplacer("BROKER", "$KAFKA")}
	yaml := w.blocks(string(b))
	w.run("readme", strings.NewReplacer("/var/lib/sessionfold", "data", "name: agents", "name: demo").Replace(yaml), 6)
}

// TestQuickstartCommands runs those of docs/quickstart.md, one after the other,
// with its configuration.
func TestQuickstartCommands(t *testing.T) {
	b, err := os.ReadFile("../../docs/quickstart.md")
	if err != nil {
		t.Fatal(err)
	}
	addresses := []string{"BROKER", "$KAFKA", "127.0.0.1:8080", "$READS", "127.0.0.1:8081", "$READS2", "127.0.0.1:9091", "$ADMIN2"}
	w := &walk{t: t, listens: "$READS2", done: "(?m)^2 sessions match", replace: strings.NewReplacer(append(addresses, " ID", " $ID")...)}
	for _, name := range []string{"GOCACHE", "GOMODCACHE", "GOPROXY", "GOFLAGS"} {
		out, err := exec.Command("go", "env", name).Output()
		if err != nil {
			t.Fatal(err)
		}
		w.say("env %s=%s", name, strings.TrimSpace(string(out)))
	}
	dir, err := filepath.Abs("../..")
	if err != nil {
		t.Fatal(err)
	}
	w.say("env ROOT=%s\nfill folder.yaml", dir)
	yaml := w.blocks(string(b))
	w.run("quickstart", strings.NewReplacer(addresses...).Replace(yaml), 15)
}

// TestReadmeNamesEveryCommand: a command that nobody hears of is not there.
func TestReadmeNamesEveryCommand(t *testing.T) {
	b, err := os.ReadFile("../../README.md")
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range newRoot(&cli{out: os.Stdout, err: os.Stderr}).Commands() {
		if name := c.Name(); name != "help" && name != "completion" && !strings.Contains(string(b), "folder "+name) {
			t.Errorf("README.md does not name folder %s", name)
		}
	}
}

// TestComposeCreatesEveryTopic: testenv/redpanda-compose.yml creates the topics
// of a stream by hand, so a role that is added must be added there too.
func TestComposeCreatesEveryTopic(t *testing.T) {
	b, err := os.ReadFile("../../testenv/redpanda-compose.yml")
	if err != nil {
		t.Fatal(err)
	}
	for _, topic := range topicsOfStream("agents") {
		if !strings.Contains(string(b), topic+" ") && !strings.Contains(string(b), topic+"\n") {
			t.Errorf("redpanda-compose.yml does not create %s", topic)
		}
	}
}
