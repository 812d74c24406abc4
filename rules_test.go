package sessionfold

import (
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"path"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
)

const module = "sessionfold"

// A part is one row of the package table in ARCHITECTURE.md. Packages below a
// part's directory belong to it.
type part struct {
	dir  string
	pure bool     // no clock, randomness, environment, network or lock
	ours []string // parts of this module that its code may import
	why  string   // said when an import of ours breaks the rule
}

var parts = []part{
	{dir: "wire", pure: true, why: "wire is the shared language: it knows bytes and nothing of what is done with them"},
	{dir: "fold", pure: true, ours: []string{"wire"}, why: "the fold of a source reads only that source's records; anything else would let two workers disagree"},
	{dir: "index/row", pure: true, ours: []string{"wire", "fold"}, why: "stored bytes follow from a step alone, so that the changelog and the store cannot differ"},
	{dir: "index", ours: []string{"wire", "fold", "index/row"}, why: "the store holds what was committed and never talks to Kafka"},
	{dir: "source", ours: []string{"wire"}, why: "source brings records in; what they mean and where results go is decided elsewhere"},
	{dir: "sink", ours: []string{"wire", "fold", "index/row"}, why: "sink writes what it is handed; it never reads records and never the store"},
	{dir: "worker", ours: []string{"wire", "fold", "index/row"}, why: "worker does all I/O through its struct of functions, so that every failure can be made to happen in a test"},
	{dir: "serve", ours: []string{"wire", "fold", "index", "index/row"}, why: "reads come from a snapshot of the store and never touch the path of a record"},
	{dir: "cmd", ours: []string{"wire", "fold", "index", "index/row", "source", "sink", "worker", "serve", "testenv"}},
	{dir: "examples", ours: []string{"wire"}, why: "an example shows what a program of somebody else needs: the records, and nothing from inside"},
	{dir: "testenv", ours: []string{"wire", "fold", "index", "index/row", "source", "sink", "worker", "serve", "cmd"}},
}

// A foreign rule says which parts may import a package from outside.
type foreignRule struct {
	prefix string
	only   []string
	why    string
}

var foreign = []foreignRule{
	{"github.com/twmb/franz-go/pkg/kfake", []string{"testenv"}, "the broker inside the process belongs to tests and the demo"},
	{"github.com/twmb/franz-go", []string{"source", "sink", "examples", "testenv"}, "Kafka comes in through source and goes out through sink, so the commit protocol has one place"},
	{"github.com/cockroachdb/pebble", []string{"index", "testenv"}, "only index knows how state is stored, so that the store can be replaced and checked in one place"},
	{"net/http", []string{"serve", "cmd", "examples", "testenv"}, "HTTP belongs to serve and to the command line's client"},
	{"github.com/spf13/cobra", []string{"cmd"}, "the command line is wiring"},
	{"github.com/knadh/koanf", []string{"cmd"}, "configuration is read once, in cmd; packages take typed options"},
	{"github.com/goccy/go-yaml", []string{"cmd", "testenv"}, "configuration is read once, in cmd; packages take typed options"},
	{"go.opentelemetry.io", []string{"cmd"}, "packages count, cmd exports"},
	{"github.com/prometheus", []string{"cmd"}, "packages count, cmd exports"},
}

// bannedImports of pure packages, each with the reason.
var bannedImports = map[string]string{
	"os": "a result that depends on the environment cannot be replayed", "net": "the fold does no I/O", "net/http": "the fold does no I/O",
	"sync": "a source folds alone; a lock would mean shared state", "sync/atomic": "a source folds alone; an atomic would mean shared state",
	"math/rand": "nothing is drawn at random", "math/rand/v2": "nothing is drawn at random", "crypto/rand": "nothing is drawn at random",
	"log": "return errors, do not log", "log/slog": "return errors, do not log", "io/fs": "the fold does no I/O", "os/exec": "the fold does no I/O",
	"context": "pure code runs to its end", "runtime": "a result that depends on the machine cannot be replayed",
	"reflect": "stored bytes are written by hand, so that a renamed field cannot change them", "unsafe": "views of memory outlive their owner",
}

// bannedTime are the functions of package time that read or wait for a clock.
var bannedTime = []string{"Now", "Since", "Until", "After", "AfterFunc", "Sleep", "Tick", "NewTicker", "NewTimer"}

type goFile struct {
	file string // slash path from the root
	test bool
	ast  *ast.File
}

// sources parses every Go file of this module; other modules below are skipped.
func sources(t *testing.T, fset *token.FileSet) []goFile {
	t.Helper()
	var out []goFile
	err := filepath.WalkDir(".", func(p string, d fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case d.IsDir() && p != "." && (strings.HasPrefix(d.Name(), ".") || d.Name() == "testdata" || isModule(p)):
			return fs.SkipDir
		case d.IsDir() || !strings.HasSuffix(p, ".go"):
			return nil
		}
		f, err := parser.ParseFile(fset, p, nil, parser.ParseComments)
		if err != nil {
			return fmt.Errorf("rules: %w", err)
		}
		out = append(out, goFile{filepath.ToSlash(p), strings.HasSuffix(p, "_test.go"), f})
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	if len(out) < 20 {
		t.Fatalf("rules: only %d Go files found: the walk is broken", len(out))
	}
	return out
}

func isModule(dir string) bool {
	m, _ := filepath.Glob(filepath.Join(dir, "go.mod"))
	return len(m) > 0
}

// partOf gives the part of a directory: the longest matching one.
func partOf(dir string) *part {
	var best *part
	for i := range parts {
		p := &parts[i]
		if (dir == p.dir || strings.HasPrefix(dir, p.dir+"/")) && (best == nil || len(p.dir) > len(best.dir)) {
			best = p
		}
	}
	return best
}

func under(importPath, prefix string) bool {
	return importPath == prefix || strings.HasPrefix(importPath, prefix+"/")
}

func importsOf(f *ast.File) []string {
	var out []string
	for _, s := range f.Imports {
		p, _ := strconv.Unquote(s.Path.Value)
		out = append(out, p)
	}
	return out
}

func TestImportRules(t *testing.T) {
	for _, s := range sources(t, token.NewFileSet()) {
		dir := path.Dir(s.file)
		if s.test || dir == "." {
			continue // tests may use any part; the root holds no code
		}
		p := partOf(dir)
		if p == nil {
			t.Errorf("%s: directory %s is in no part: add it to the table here and in ARCHITECTURE.md, or move the code", s.file, dir)
			continue
		}
		for _, imp := range importsOf(s.ast) {
			checkImport(t, s.file, p, imp)
		}
	}
}

func checkImport(t *testing.T, file string, p *part, imp string) {
	t.Helper()
	if under(imp, module) {
		q := partOf(strings.TrimPrefix(imp, module+"/"))
		if q != nil && q != p && !slices.Contains(p.ours, q.dir) {
			t.Errorf("%s: %s must not import %s: %s", file, p.dir, imp, p.why)
		}
		return
	}
	if why, bad := bannedImports[imp]; bad && p.pure {
		t.Errorf("%s: pure package %s must not import %s: %s", file, p.dir, imp, why)
	}
	for _, r := range foreign {
		if under(imp, r.prefix) {
			if !slices.Contains(r.only, p.dir) {
				t.Errorf("%s: %s must not import %s: %s", file, p.dir, imp, r.why)
			}
			return // the first rule that matches is the narrowest
		}
	}
}

func TestPureCode(t *testing.T) {
	fset := token.NewFileSet()
	for _, s := range sources(t, fset) {
		p := partOf(path.Dir(s.file))
		if s.test || p == nil || !p.pure {
			continue
		}
		ast.Inspect(s.ast, func(n ast.Node) bool {
			if g, ok := n.(*ast.GoStmt); ok {
				t.Errorf("%s: pure package %s starts a goroutine: its result would depend on the scheduler", fset.Position(g.Pos()), p.dir)
			}
			sel, ok := n.(*ast.SelectorExpr)
			if !ok {
				return true
			}
			if x, ok := sel.X.(*ast.Ident); ok && x.Name == "time" && slices.Contains(bannedTime, sel.Sel.Name) {
				t.Errorf("%s: pure package %s uses time.%s: time comes from the record", fset.Position(sel.Pos()), p.dir, sel.Sel.Name)
			}
			return true
		})
	}
}

func TestPackageComments(t *testing.T) {
	has, seen := map[string]bool{}, map[string]string{}
	for _, s := range sources(t, token.NewFileSet()) {
		if s.test {
			continue
		}
		dir := path.Dir(s.file)
		seen[dir] = s.file
		has[dir] = has[dir] || s.ast.Doc != nil && strings.TrimSpace(s.ast.Doc.Text()) != ""
	}
	for dir, file := range seen {
		if dir != "." && !has[dir] {
			t.Errorf("%s: package in %s has no package comment: say in one sentence what it is", file, dir)
		}
	}
}

// TestNoExit: a library that ends the process leaves no one to restore state.
func TestNoExit(t *testing.T) {
	fset := token.NewFileSet()
	for _, s := range sources(t, fset) {
		dir := path.Dir(s.file)
		if s.test || strings.HasSuffix(s.file, "/main.go") || s.ast.Name.Name == "main" || dir == "." || under(dir, "testenv") {
			continue
		}
		ast.Inspect(s.ast, func(n ast.Node) bool {
			if sel, ok := n.(*ast.SelectorExpr); ok && sel.Sel.Name == "Exit" {
				if x, ok := sel.X.(*ast.Ident); ok && x.Name == "os" {
					t.Errorf("%s: os.Exit outside a main package: return an error, the caller decides", fset.Position(sel.Pos()))
				}
			}
			return true
		})
	}
}
