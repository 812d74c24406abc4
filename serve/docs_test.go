package serve

import (
	"fmt"
	"net/http"
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"

	"sessionfold/testenv/agdxlog"
	"sessionfold/wire"
)

var inCode = regexp.MustCompile("`([^`]+)`")

// words are those in code marks.
func words(cell string) (out []string) {
	for _, m := range inCode.FindAllStringSubmatch(cell, -1) {
		out = append(out, m[1])
	}
	slices.Sort(out)
	return out
}

// table gives the rows of a section's table, by cells.
func table(t *testing.T, text, section string) (rows [][]string) {
	t.Helper()
	_, text, _ = strings.Cut(text, "\n## "+section+"\n")
	text, _, _ = strings.Cut(text, "\n## ")
	for line := range strings.Lines(text) {
		if cells := strings.Split(strings.Trim(line, "| \n"), " | "); strings.HasPrefix(line, "| `") {
			rows = append(rows, cells)
		}
	}
	if len(rows) == 0 {
		t.Fatalf("no table in %s", section)
	}
	return rows
}

type patterns []string

func (p *patterns) HandleFunc(pattern string, _ func(http.ResponseWriter, *http.Request)) {
	*p = append(*p, pattern)
}

// docs/reads.md names every route with all of its parameters, says something of
// every parameter, and names every code; and nothing that is not there.
func TestReadsAreDocumented(t *testing.T) {
	b, err := os.ReadFile("../docs/reads.md")
	if err != nil {
		t.Fatal(err)
	}
	doc := string(b)
	w := newWorld(t)
	w.opt.Changes = (&changeTopic{}).read
	w.opt.Streams = append(w.opt.Streams, Stream{Name: "deep", Dialect: wire.DialectDeepStrike})
	w.serve()
	replaces := strings.NewReplacer("STREAM", "deep", "ID", agdxlog.NameID("x").String())
	all := map[string]bool{}
	routes := map[string]bool{}
	for _, row := range table(t, doc, "Routes") {
		path := words(row[0])[0]
		routes[path] = true
		msg := w.fails(400, "invalid_argument", replaces.Replace(path)+"?nosuch=1")
		_, takes, ok := strings.Cut(msg, "this route takes ")
		if !ok {
			t.Fatalf("%s: %s", path, msg)
		}
		var want []string
		if takes != "none" {
			want = strings.Split(takes, ", ")
		}
		slices.Sort(want)
		got := []string(nil)
		if len(row) > 2 {
			got = words(row[1])
		}
		if !slices.Equal(got, want) {
			t.Errorf("%s is said to take %q, it takes %q", path, got, want)
		}
		for _, name := range want {
			all[name] = true
		}
	}
	h, err := newHandler(w.opt)
	if err != nil {
		t.Fatal(err)
	}
	var served patterns
	h.routes(&served)
	for _, pattern := range served {
		path := strings.NewReplacer("{stream}", "STREAM", "{id}", "ID", "{code}", "CODE").Replace(pattern)
		if path != "/" && !routes[path] && !strings.Contains(doc, "`POST "+path+"`") {
			t.Errorf("%s is not told of", path)
		}
	}
	told := map[string]bool{"after": true, "subtree": true, "history_limit": true, "surface": true, "lane_only": true, "format": true} // by their routes
	for _, row := range table(t, doc, "Parameters") {
		for _, name := range words(row[0]) {
			if told[name] = true; !all[name] {
				t.Errorf("no route takes %s", name)
			}
		}
	}
	for name := range all {
		if !told[name] {
			t.Errorf("nothing is said of %s", name)
		}
	}
	codes := map[string]string{"internal": "500", "forbidden": "403", "too_large": "413"}
	for _, k := range kinds {
		codes[k.code] = fmt.Sprint(k.status)
	}
	for _, row := range table(t, doc, "Errors") {
		for _, code := range words(row[0]) {
			if codes[code] == "" || !strings.Contains(row[1], codes[code]) {
				t.Errorf("code %s with %s, it is %q", code, row[1], codes[code])
			}
			delete(codes, code)
		}
	}
	if len(codes) > 0 {
		t.Errorf("not told of: %v", codes)
	}
}
