package main

import (
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
	"unicode"

	"github.com/spf13/cobra"
)

const root = "../.."

// documents gives every document of the project, by path from the root. Those of
// decisions tell of their time, so what they name need not be there.
func documents(t *testing.T, decisions bool) map[string]string {
	t.Helper()
	out := map[string]string{}
	err := filepath.WalkDir(root, func(path string, d fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case d.IsDir() && (strings.HasPrefix(d.Name(), ".") && d.Name() != ".." || d.Name() == "testdata" || d.Name() == "bin" || d.Name() == "decisions" && !decisions):
			if path != root {
				return fs.SkipDir
			}
		case strings.HasSuffix(path, ".md"):
			b, err := os.ReadFile(path)
			name, _ := filepath.Rel(root, path)
			out[filepath.ToSlash(name)] = string(b)
			return err
		}
		return nil
	})
	if err != nil || len(out) < 12 {
		t.Fatalf("%d documents: %v", len(out), err)
	}
	return out
}

// literals are all texts in the program's code, tests aside.
func literals(t *testing.T) []string {
	t.Helper()
	var out []string
	for _, dir := range []string{"cmd", "fold", "index", "serve", "sink", "source", "wire", "worker"} {
		err := filepath.WalkDir(filepath.Join(root, dir), func(path string, _ fs.DirEntry, err error) error {
			if err != nil || !strings.HasSuffix(path, ".go") || strings.HasSuffix(path, "_test.go") {
				return err
			}
			f, err := parser.ParseFile(token.NewFileSet(), path, nil, 0)
			if err != nil {
				return err
			}
			ast.Inspect(f, func(n ast.Node) bool {
				if l, ok := n.(*ast.BasicLit); ok && l.Kind == token.STRING {
					s, _ := strconv.Unquote(l.Value)
					out = append(out, s)
				}
				return true
			})
			return nil
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	return out
}

// TestLinksLead: every relative link of the documents leads to a file, and to a
// heading of it where it names one.
func TestLinksLead(t *testing.T) {
	link := regexp.MustCompile(`\]\(([^)\s]*)\)`)
	docs, n := documents(t, true), 0
	for doc, text := range docs {
		for _, m := range link.FindAllStringSubmatch(text, -1) {
			file, heading, _ := strings.Cut(m[1], "#")
			if strings.Contains(file, ":") {
				continue // elsewhere
			}
			n++
			at := doc
			if file != "" {
				at = filepath.ToSlash(filepath.Join(filepath.Dir(doc), file))
			}
			if _, err := os.Stat(filepath.Join(root, at)); err != nil {
				t.Errorf("%s: link to %s: %v", doc, m[1], err)
			} else if heading != "" && !slices.Contains(headings(docs[at]), heading) {
				t.Errorf("%s: link to %s: %s has no such heading", doc, m[1], at)
			}
		}
	}
	if n < 30 {
		t.Errorf("only %d links were found", n)
	}
}

// headings gives the anchors of a document, as GitHub makes them.
func headings(text string) (out []string) {
	for _, m := range regexp.MustCompile(`(?m)^#+ (.*)$`).FindAllStringSubmatch(text, -1) {
		out = append(out, strings.Map(func(r rune) rune {
			switch {
			case r == ' ':
				return '-'
			case r == '-' || r == '_' || unicode.IsLetter(r) || unicode.IsDigit(r):
				return unicode.ToLower(r)
			}
			return -1
		}, m[1]))
	}
	return out
}

// TestDocsNameEveryMetric: the documents name every metric of the program, and no
// other.
func TestDocsNameEveryMetric(t *testing.T) {
	// The daemon's tests hold the names against a scrape; here it is enough that
	// each begins as a text in the code: "records_total" in a call of counter.
	program := map[string]bool{}
	err := filepath.WalkDir("internal/daemon", func(path string, _ fs.DirEntry, err error) error {
		if err != nil || !strings.HasSuffix(path, ".go") || strings.HasSuffix(path, "_test.go") {
			return err
		}
		b, err := os.ReadFile(path)
		for _, m := range regexp.MustCompile(`\b(?:desc|counter|gauge)\("([a-z_]+)"|"folder_([a-z_]+)"`).FindAllStringSubmatch(string(b), -1) {
			if name := m[1] + m[2]; name != "" {
				program["folder_"+name] = true
			}
		}
		return err
	})
	if err != nil || len(program) < 30 {
		t.Fatalf("%d metrics in the code: %v", len(program), err)
	}
	named := map[string]string{}
	for doc, text := range documents(t, false) {
		for _, m := range regexp.MustCompile(`\bfolder_[a-z0-9_]+`).FindAllString(text, -1) {
			for _, part := range []string{"_count", "_sum", "_bucket"} { // series of a histogram
				if name := strings.TrimSuffix(m, part); program[name] {
					m = name
				}
			}
			named[m] = doc
		}
	}
	for _, name := range slices.Sorted(maps.Keys(program)) {
		if named[name] == "" {
			t.Errorf("no document names the metric %s", name)
		}
	}
	for name, doc := range named {
		if !program[name] {
			t.Errorf("%s names a metric %s that the program does not have", doc, name)
		}
	}
}

// TestDocsQuoteMessages: what docs/operations.md quotes of the program's messages
// stands in the program.
func TestDocsQuoteMessages(t *testing.T) {
	// Words of the operating system within messages.
	foreign := []string{"no space left on device", "input/output error", "read-only file system", "permission denied", "not a directory"}
	texts, n := literals(t), 0
	for _, m := range regexp.MustCompile("`([a-zA-Z][^`]* [^`]* [^`]*)`").FindAllStringSubmatch(documents(t, false)["docs/operations.md"], -1) {
		if regexp.MustCompile(`^(folder|bin/folder|openssl|kafka-\S+) |[|=(]`).MatchString(m[1]) {
			continue // a command
		}
		for piece := range strings.SplitSeq(m[1], "…") {
			piece = strings.Trim(piece, " :")
			if piece == "" || slices.Contains(foreign, piece) {
				continue
			}
			n++
			if !slices.ContainsFunc(texts, func(s string) bool { return strings.Contains(s, piece) }) {
				t.Errorf("docs/operations.md quotes %q, which the program does not say", piece)
			}
		}
	}
	if n < 20 {
		t.Errorf("only %d messages were found", n)
	}
}

// TestDocsNameCommands: commands that the documents show exist, with their flags.
func TestDocsNameCommands(t *testing.T) {
	n := 0
	for doc, text := range documents(t, false) {
		for _, line := range commandLines(text) {
			n++
			cmd := newRoot(&cli{out: os.Stdout, err: os.Stderr})
			words := strings.Fields(line)
			for len(words) > 0 {
				next := subcommand(cmd, words[0])
				if next == nil {
					break
				}
				cmd, words = next, words[1:]
			}
			if len(words) > 0 && cmd.HasSubCommands() && regexp.MustCompile(`^[a-z][a-z-]*$`).MatchString(words[0]) {
				t.Errorf("%s: folder %s: there is no command %s of %s", doc, line, words[0], cmd.CommandPath())
			}
			for _, w := range words {
				name, ok := strings.CutPrefix(w, "--")
				name, _, _ = strings.Cut(name, "=")
				name = strings.TrimRight(name, "`.,;:)")
				if ok && name != "" && cmd.Flags().Lookup(name) == nil && cmd.InheritedFlags().Lookup(name) == nil && name != "help" {
					t.Errorf("%s: folder %s: %s has no flag --%s", doc, line, cmd.CommandPath(), name)
				}
			}
		}
	}
	if n < 60 {
		t.Errorf("only %d commands were found", n)
	}
}

func subcommand(cmd *cobra.Command, name string) *cobra.Command {
	for _, c := range cmd.Commands() {
		if c.Name() == name {
			return c
		}
	}
	return nil
}

// commandLines are what stands behind the program's name, in blocks and between
// backticks.
func commandLines(text string) (out []string) {
	fenced := regexp.MustCompile("(?s)```[a-z]*\n(.*?)```")
	take := func(line string) {
		line, _, _ = strings.Cut(line, " #")
		line, _, _ = strings.Cut(line, " | ")
		if m := regexp.MustCompile(`^(?:\S+=\S+ )*(?:bin/|.* -- /)?folder ([a-z].*)$`).FindStringSubmatch(strings.TrimSpace(line)); m != nil {
			out = append(out, m[1])
		}
	}
	for _, m := range fenced.FindAllStringSubmatch(text, -1) {
		for line := range strings.Lines(m[1]) {
			take(line)
		}
	}
	for _, m := range regexp.MustCompile("`([^`\n]+)`").FindAllStringSubmatch(fenced.ReplaceAllString(text, ""), -1) {
		take(m[1])
	}
	return out
}

// TestDocsNamePaths: what the documents say is served, is.
func TestDocsNamePaths(t *testing.T) {
	texts, n := strings.Join(literals(t), "\n"), 0
	for doc, text := range documents(t, false) {
		for _, m := range regexp.MustCompile("`(?:GET |POST )?(/[a-z]+(?:/[a-z]+)?)(?:\\?[^`]*)?(?:/[a-z?=0-9]+)?`").FindAllStringSubmatch(text, -1) {
			if strings.HasPrefix(m[1], "/var") || strings.HasPrefix(m[1], "/etc") || m[1] == "/folder" {
				continue // of a file system
			}
			n++
			if !strings.Contains(texts, strings.TrimPrefix(m[1], "/agdx")) {
				t.Errorf("%s: nothing serves %s", doc, m[1])
			}
		}
		for _, m := range regexp.MustCompile(`(?:…|/agdx)(?:/sessions/\{stream\})?/(?:\{id\}/)?([a-z]+)\b`).FindAllStringSubmatch(text, -1) {
			n++
			if !strings.Contains(texts, "/"+m[1]) {
				t.Errorf("%s: nothing serves %s", doc, fmt.Sprint(m[0]))
			}
		}
	}
	if n < 15 {
		t.Errorf("only %d paths were found", n)
	}
}
