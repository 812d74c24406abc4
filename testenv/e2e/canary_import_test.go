package e2e

import (
	"bytes"
	"context"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/twmb/franz-go/pkg/kgo"

	"sessionfold/wire"
)

// imports sends the canaries' records from files, as people with logs and no Kafka
// do. What the command prints, when it works and when it refuses, holds no
// content; it writes nothing beside its input; and what the topic has of it is the
// log itself, with keys and marks that hold none.
func (s *search) imports(d wire.Dialect, native string) {
	s.r.Helper()
	logs, cwd, topic := s.r.TempDir(), s.r.TempDir(), "imported-"+s.r.stream
	if s.r.kafka.Real {
		s.r.Cleanup(func() { s.r.kafka.Delete(s.r, topic) })
	}
	name, lines := "export.jsonl", []byte{}
	if d == wire.DialectDeepStrike {
		name = native + ".jsonl"
	}
	for _, rec := range s.log.Records {
		if rec.Value != nil && (d == wire.DialectEverruns || string(rec.Key) == native) {
			lines = append(append(lines, rec.Value...), '\n')
		}
	}
	file := filepath.Join(logs, name)
	half := append(slices.Clip(lines), `{"goal":"`+s.secret("half a line at the end of a log")...)
	s.r.replace(file, string(half))

	// run wants a word in what is printed, so that the search looks at the right
	// thing.
	run := func(place, word string, fails bool, args ...string) {
		s.r.Helper()
		cmd := exec.CommandContext(s.r.Context(), s.r.bin, args...)
		cmd.Dir = cwd
		out, err := cmd.CombinedOutput()
		if (err != nil) != fails || !strings.Contains(string(out), word) {
			s.r.Errorf("%s: %v\n%s\nwant it to say %q", place, err, out, word)
		}
		s.look(place, out, kept)
	}
	imports := func(more ...string) []string {
		return append([]string{"import", "--kafka.brokers", strings.Join(s.r.kafka.Addrs, ","), "--topic", topic, logs}, more...)
	}
	other := map[wire.Dialect]string{wire.DialectDeepStrike: "everruns", wire.DialectEverruns: "deepstrike"}[d]
	run("import --dry-run", "records of", false, imports("--dry-run")...)
	run("import --dry-run as another dialect", "cannot be read", false, imports("--dry-run", "--dialect", other)...)
	run("import without a topic", "--partitions", true, imports()...)
	run("import", "1 files end within a line", false, imports("--partitions", "1")...)
	run("import again", ": 0 sent, ", false, imports()...)
	first := bytes.IndexByte(lines, '\n')
	s.r.replace(file, string(lines[:first+1])+`{"kind":"resumed","note":"`+s.secret("line that is another one now")+"\"}\n")
	run("import of a changed log", ":2: differs", true, imports()...)
	s.r.replace(file, string(half))
	run("replay of files", "SESSION", false, "replay", "--stream", d.String(), logs)

	s.untouched(cwd)
	if b, err := os.ReadFile(file); err != nil || !bytes.Equal(b, half) {
		s.r.Errorf("the import changed its input (%v)", err)
	}
	s.untouched(logs, name)
	s.importedTopic(topic)
}

// untouched sees that a directory has these files and no others.
func (s *search) untouched(dir string, want ...string) {
	s.r.Helper()
	entries, err := os.ReadDir(dir)
	if err != nil {
		s.r.Fatal(err)
	}
	var have []string
	for _, e := range entries {
		have = append(have, e.Name())
	}
	if !slices.Equal(have, want) {
		s.r.Errorf("the import leaves %q in a directory that had %q", have, want)
	}
}

// importedTopic looks at keys and headers; values are the log.
func (s *search) importedTopic(topic string) {
	s.r.Helper()
	ctx, cancel := context.WithTimeout(s.r.Context(), time.Minute)
	defer cancel()
	marks, values := 0, &aviary{all: s.all}
	found := map[string]bool{}
	s.topic(ctx, topic, func(r *kgo.Record) {
		s.look("keys of imported records", r.Key, kept)
		for _, h := range r.Headers {
			marks++
			s.look("headers of imported records", []byte(h.Key+"\n"+string(h.Value)), kept)
		}
		for _, c := range values.find(r.Value) {
			found[c.what] = true
		}
	})
	if marks == 0 || len(found) < 100 {
		s.r.Errorf("%d marks, %d canaries in what was imported: the search looked at the wrong topic", marks, len(found))
	}
}
