package replay

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"sessionfold/fold"
	"sessionfold/wire"
)

// exportsIn writes a directory with the log files of two DeepStrike sessions and
// an export of Everruns.
func exportsIn(t *testing.T) string {
	t.Helper()
	dir := t.TempDir()
	put := func(name string, lines ...string) {
		file := filepath.Join(dir, name)
		if err := os.WriteFile(file, []byte(strings.Join(lines, "\n")+"\n"), 0o644); err != nil {
			t.Fatal(err)
		}
		if err := os.Chtimes(file, time.UnixMilli(5_000), time.UnixMilli(5_000)); err != nil {
			t.Fatal(err)
		}
	}
	put("run-1.jsonl", `{"seq":0,"event":{"kind":"run_started","run_id":"r","goal":"g","criteria":[]}}`, `{"seq":1,"event":{"kind":"run_terminal","reason":"completed"}}`, `broken`)
	put("run-2.jsonl", `{"seq":0,"record_type":"kernel_genesis","genesis":{}}`, `{"seq":1,"event":{"kind":"suspended","turn":1,"reason":"ask_user"}}`)
	put("events.jsonl", `{"id":"1","type":"turn.started","ts":"1970-01-01T00:00:07Z","session_id":"s","data":{}}`, ``,
		`{"id":"s","organization_id":"o","status":"idle","title":"brief","updated_at":"1970-01-01T00:00:09.5Z"}`)
	return dir
}

// folded reads the directory into an engine and gives a session's view.
func folded(t *testing.T, dir string, streams []Stream) func(stream, session string) wire.SessionInfo {
	t.Helper()
	files, err := Expand([]string{dir})
	if err != nil {
		t.Fatal(err)
	}
	if streams == nil {
		var topics []string
		if err := Read(context.Background(), files, nil, func(l *Line) error { topics = append(topics, l.Topic); return nil }); err != nil {
			t.Fatal(err)
		}
		streams = GuessStreams(topics)
	}
	e, err := New(streams)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { e.Close() })
	if err := Read(context.Background(), files, nil, e.Put); err != nil {
		t.Fatal(err)
	}
	if err := e.Flush(); err != nil {
		t.Fatal(err)
	}
	return func(stream, session string) wire.SessionInfo {
		t.Helper()
		r, err := e.Store().Reader()
		if err != nil {
			t.Fatal(err)
		}
		defer r.Close()
		sources, err := r.Sources(stream)
		if err != nil || len(sources) == 0 {
			t.Fatalf("stream %s: %v", stream, err)
		}
		id := wire.NativeID(sources[0].Source.Dialect, stream, []byte(session))
		ks, err := r.Session(stream, id)
		if err != nil {
			t.Fatal(err)
		}
		s := fold.Merge(id, ks)
		if s == nil {
			t.Fatalf("stream %s has no session %s", stream, session)
		}
		return fold.View(s, fold.ViewInput{})
	}
}

func describe(v wire.SessionInfo) string {
	return fmt.Sprint(v.NativeID, " ", v.Status, " ", v.Events, " ", *v.FirstEventAt, " ", *v.LastEventAt, " ", *v.Label)
}

// Log files and exports are read as they are: DeepStrike sessions are named by
// their files, whose time is that of the file; Everruns events have their own.
func TestExportsAreRead(t *testing.T) {
	view := folded(t, exportsIn(t), nil)
	for _, c := range [][3]string{
		{"deepstrike", "run-1", "run-1 completed 3 5000000 5000000 run-1"}, {"deepstrike", "run-2", "run-2 paused 2 5000000 5000000 run-2"},
		{"everruns", "s", "s submitted 2 7000000 9500000 brief"},
	} {
		if got := describe(view(c[0], c[1])); got != c[2] {
			t.Errorf("%s, want %s", got, c[2])
		}
	}
}

// A configured stream of the dialect takes the lines; auto takes any.
func TestExportsGoToTheConfiguredStream(t *testing.T) {
	view := folded(t, exportsIn(t), []Stream{
		{Name: "tasks", Dialect: wire.DialectDeepStrike, Topics: []wire.TopicRole{{Topic: "tasks.events", Role: wire.RoleLane}}},
		{Name: "told", Auto: true, Topics: []wire.TopicRole{{Topic: "told.events", Role: wire.RoleLane}}},
	})
	if got := describe(view("tasks", "run-2")); !strings.HasPrefix(got, "run-2 paused 2") {
		t.Error(got)
	}
	if v := view("told", "s"); v.Dialect != "everruns" || v.Events != 2 {
		t.Errorf("%+v", v)
	}
}

// A topic whose first records tell nothing is held back until one does.
func TestAutoWaitsForARecordThatTells(t *testing.T) {
	put := func(e *Engine, offset uint64, value string) {
		t.Helper()
		p := int32(0)
		if err := e.Put(&Line{Topic: "t", Partition: &p, Offset: &offset, Key: []byte("k"), Value: []byte(value)}); err != nil {
			t.Fatal(err)
		}
	}
	streams := []Stream{{Name: "s", Auto: true, Topics: []wire.TopicRole{{Topic: "t", Role: wire.RoleLane}}}}
	e, err := New(streams)
	if err != nil {
		t.Fatal(err)
	}
	defer e.Close()
	put(e, 0, `{}`)
	if err := e.Flush(); err == nil || !strings.Contains(err.Error(), "hint: configure the dialect") {
		t.Errorf("nothing told the dialect: %v", err)
	}
	put(e, 1, `{"kind":"resumed","turn":1}`)
	put(e, 2, `{"type":"turn.started"}`)
	if err := e.Flush(); err != nil {
		t.Fatal(err)
	}
	list, err := e.Store().Sources("s")
	if err != nil || len(list) != 1 || list[0].Source.Dialect != wire.DialectDeepStrike || list[0].Frontier.Records != 3 || list[0].Frontier.Invalid != 2 {
		t.Errorf("%+v, %v", list, err)
	}
}
