package main

import (
	"fmt"
	"os"
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

// TestReadmeCommands runs the commands of README.md: those of the demo against
// a demo, those of a deployment against its broker. Only addresses and
// directories are replaced, because tests run at the same time.
func TestReadmeCommands(t *testing.T) {
	b, err := os.ReadFile("../../README.md")
	if err != nil {
		t.Fatal(err)
	}
	readme := string(b)
	makefile, err := os.ReadFile("../../Makefile")
	if err != nil {
		t.Fatal(err)
	}
	if !regexp.MustCompile(`(?m)^demo: build.*\n\t\$\(BIN\)/folder demo --dir`).Match(makefile) {
		t.Fatal("make demo does not run folder demo")
	}
	yaml := blocks(readme, "yaml")
	if len(yaml) != 1 {
		t.Fatalf("README.md has %d yaml blocks, want the one of folder.yaml", len(yaml))
	}
	config := strings.NewReplacer("/var/lib/sessionfold", "data", "name: agents", "name: demo").Replace(yaml[0])

	s := &strings.Builder{}
	var ran []string
	for _, block := range blocks(readme, "sh") {
		for line := range strings.SplitSeq(strings.TrimSpace(block), "\n") {
			command, ok := strings.CutPrefix(line, "bin/folder ")
			command = strings.NewReplacer("BROKER", "$KAFKA", "http://127.0.0.1:8080/agdx", "$FOLDER_URL").Replace(command)
			switch {
			case line == "make demo":
				fmt.Fprintln(s, "exec folder demo --dir d --sessions 10 --rate 0 --kafka-port $KAFKA_PORT &demo&")
				fmt.Fprintln(s, "await '(?m)^10 sessions match' folder sessions list --limit 1 --total")
			case line == "make test":
				if !regexp.MustCompile(`(?m)^test:.*\n\t\$\(GO\) test .*\./\.\.\.`).Match(makefile) {
					t.Error("make test does not run go test ./...")
				}
			case !ok:
				t.Errorf("README.md: %q is run by nothing", line)
			case strings.HasPrefix(command, "run "):
				fmt.Fprintf(s, "env FOLDER_HTTP_LISTEN=$READS2\nenv FOLDER_ADMIN_LISTEN=$ADMIN2\nenv FOLDER_KAFKA_BROKERS=$KAFKA\nenv FOLDER_OUTPUT_REPLICATION_FACTOR=1\n")
				fmt.Fprintf(s, "exec folder %s &run&\n", command)
				fmt.Fprintln(s, "await '(?m)^10 sessions match' folder sessions list --url http://$READS2/agdx --limit 1 --total")
				fmt.Fprintln(s, "kill -INT run\nwait run")
			case strings.HasPrefix(command, "export "):
				fmt.Fprintf(s, "exec folder %s\n", command)
			case strings.HasPrefix(command, "replay "):
				// The worker may be a commit behind the export.
				fmt.Fprintf(s, "await '(?m)^equal$' folder %s\n", command)
			default:
				fmt.Fprintf(s, "exec folder %s\nstdout .\n", command)
			}
			ran = append(ran, line)
		}
	}
	if len(ran) < 6 {
		t.Fatalf("only %d commands found in README.md: %q", len(ran), ran)
	}
	fmt.Fprintf(s, "kill -INT demo\nwait demo\n-- folder.yaml --\n%s", config)
	file := filepath.Join(t.TempDir(), "readme.txtar")
	if err := os.WriteFile(file, []byte(s.String()), 0o644); err != nil {
		t.Fatal(err)
	}
	p := params()
	p.Files = []string{file}
	testscript.Run(t, p)
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

// TestLinksLead: every relative link of the documents leads to a file.
func TestLinksLead(t *testing.T) {
	link := regexp.MustCompile(`\]\(([^)#:]+)\)`)
	docs, err := filepath.Glob("../../*.md")
	if err != nil {
		t.Fatal(err)
	}
	more, _ := filepath.Glob("../../docs/*.md")
	for _, doc := range append(docs, more...) {
		b, err := os.ReadFile(doc)
		if err != nil {
			t.Fatal(err)
		}
		for _, m := range link.FindAllStringSubmatch(string(b), -1) {
			if _, err := os.Stat(filepath.Join(filepath.Dir(doc), m[1])); err != nil {
				t.Errorf("%s: link to %s: %v", filepath.Base(doc), m[1], err)
			}
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
