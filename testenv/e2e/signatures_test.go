package e2e

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"
	"time"

	"sessionfold/testenv"
	"sessionfold/testenv/agdxgen"
	"sessionfold/testenv/agdxlog"
	"sessionfold/wire"
)

// metric sums up the series of a metric whose labels contain each of some texts.
func (r *rig) metric(name string, labels ...string) (float64, error) {
	body, err := r.worker.Get(r.Context(), r.worker.Admin+"/metrics")
	if err != nil {
		return 0, err
	}
	sum, found := 0.0, false
	for _, m := range regexp.MustCompile(`(?m)^`+name+`(\{[^}]*\})? (\S+)$`).FindAllStringSubmatch(string(body), -1) {
		all := true
		for _, l := range labels {
			all = all && strings.Contains(m[1], l)
		}
		if v, err := strconv.ParseFloat(m[2], 64); all && err == nil {
			sum, found = sum+v, true
		}
	}
	if !found {
		return 0, fmt.Errorf("no metric %s with %q", name, labels)
	}
	return sum, nil
}

// awaitMetric waits until a metric has a value.
func (r *rig) awaitMetric(want float64, name string, labels ...string) {
	r.Helper()
	testenv.Eventually(r, 60*time.Second, func() error {
		got, err := r.metric(name, labels...)
		if err == nil && got != want {
			err = fmt.Errorf("%s %q is %v, want %v", name, labels, got, want)
		}
		return err
	})
}

// verdicts waits for the numbers of signatures of all sources.
func (r *rig) verdicts(verified, unknown, wrong float64) {
	r.Helper()
	for v, n := range map[wire.Verdict]float64{wire.Verified: verified, wire.UnknownKey: unknown, wire.WrongSignature: wrong} {
		r.awaitMetric(n, "folder_source_signatures_total", `verdict="`+v.String()+`"`)
	}
}

// actors gives the verified actors of a session's rows from one role, "-" for
// none.
func (r *rig) actors(role wire.Role, id wire.ID) string {
	r.Helper()
	ctx, cancel := context.WithTimeout(r.Context(), 30*time.Second)
	defer cancel()
	rows, err := r.events(ctx, id)
	if err != nil {
		r.Fatal(err)
	}
	var out []string
	for _, row := range rows {
		switch {
		case wire.RoleOf(r.stream, row.Topic) != role:
		case row.VerifiedActor == "":
			out = append(out, "-")
		default:
			out = append(out, row.VerifiedActor)
		}
	}
	return strings.Join(out, " ")
}

// replace puts a file in place of another as an operator should: by renaming.
func (r *rig) replace(path, text string) {
	r.Helper()
	if err := os.WriteFile(path+".next", []byte(text), 0o600); err != nil {
		r.Fatal(err)
	}
	if err := os.Rename(path+".next", path); err != nil {
		r.Fatal(err)
	}
}

// Good, wrong and unknown signatures under a keys file that is replaced while the
// worker runs; then the same log folded anew under the last keys.
func TestSignatures(t *testing.T) {
	r := newRig(t)
	file := filepath.Join(t.TempDir(), "keys")
	r.streamSetting(fmt.Sprintf("keys_file: %q", file))
	ann, bob := agdxlog.KeyLine("ann", "ann@ops.example"), agdxlog.KeyLine("bob", "bob the builder")
	r.replace(file, "# on duty\n"+ann)
	r.start()

	l := r.log()
	s := l.Session("signed", "planner")
	key, other := agdxlog.KeyNamed("ann"), agdxlog.KeyNamed("bob")
	s.Signs(key, false).Start(agdxlog.Start{Label: "who was it?"})
	s.Signs(key, true).Note("bound to its headers")
	s.Signs(nil, false).Note("nobody")
	s.Signs(other, false).Note("not enrolled")
	s.Signs(key, false).Note("forged")
	e, err := wire.DecodeEnvelope(l.Records[4].Value)
	if err != nil {
		t.Fatal(err)
	}
	e.Body = []byte(`{"text":"and changed"}`)
	l.Records[4].Value = e.Marshal()
	s.Signs(key, true).Note("under another header")
	for i, h := range l.Records[5].Headers {
		if h.Key == wire.HeaderContentType {
			l.Records[5].Headers[i].Value = []byte{agdxlog.CTCBOR}
		}
	}
	s.Signs(key, false).Policy("everything else is signed too", true)
	s.Signs(other, true).Policy("and not enrolled", true)
	r.write(l.Records...)
	r.await(60 * time.Second)
	actors := func(lane, audit string) {
		t.Helper()
		if got := [2]string{r.actors(wire.RoleLane, s.ID), r.actors(wire.RoleAudit, s.ID)}; got != [2]string{lane, audit} {
			t.Errorf("actors %q, want %q and %q", got, lane, audit)
		}
	}
	const first = "ann@ops.example ann@ops.example - - - -"
	actors(first, "ann@ops.example -")
	r.verdicts(3, 2, 2)
	r.sameAsReplay()

	// bob is enrolled: what is folded from then on names him.
	r.replace(file, bob+ann)
	r.awaitMetric(2, "folder_keys", r.stream)
	l.Records = nil
	s.Signs(other, true).Note("enrolled")
	r.write(l.Records...)
	r.verdicts(4, 2, 2)

	// A file that cannot be used changes nothing but the numbers that tell of it.
	r.replace(file, ann[:40])
	r.awaitMetric(1, "folder_keys_file_failed", r.stream)
	l.Records = nil
	s.Signs(key, false).Note("the keys of before")
	r.write(l.Records...)
	r.verdicts(5, 2, 2)

	// ann's key is withdrawn.
	r.replace(file, bob)
	r.awaitMetric(1, "folder_keys", r.stream)
	r.awaitMetric(0, "folder_keys_file_failed", r.stream)
	l.Records = nil
	s.Signs(key, false).Note("withdrawn")
	s.Signs(other, false).Note("still enrolled")
	r.write(l.Records...)
	r.verdicts(6, 3, 2)
	r.await(60 * time.Second)
	actors(first+" bob the builder ann@ops.example - bob the builder", "ann@ops.example -")
	r.changesAreWhole()

	// verify holds what it can to the keys of today.
	out, err := r.cli("verify", "--config", r.worker.Config(), "--stream", r.stream)
	if err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{"equal", "signatures are compared from offset 8 on", "signatures are not compared"} {
		if !strings.Contains(out, want) {
			t.Errorf("verify does not say %q:\n%s", want, out)
		}
	}
	// A replay under them names other actors, and says why that may be.
	log := filepath.Join(t.TempDir(), "log.ndjson")
	if _, err := r.cli("export", "--config", r.worker.Config(), "--stream", r.stream, "--output", log); err != nil {
		t.Fatal(err)
	}
	out, err = r.cli("replay", "--config", r.worker.Config(), "--stream", r.stream, "--compare", r.worker.Reads, log)
	if err == nil || !strings.Contains(out, "verified_actor") || !strings.Contains(out, "hint: the worker may have folded") {
		t.Errorf("a replay under other keys: %v\n%s", err, out)
	}
	if out, err := r.cli("replay", "--compare", r.worker.Reads, log); err != nil {
		t.Errorf("a replay without keys: %v\n%s", err, out)
	}

	// Begun anew, the whole log is held against the keys of now.
	if _, err := r.cli("rebuild", "--config", r.worker.Config(), "--stream", r.stream); err != nil {
		t.Fatal(err)
	}
	r.await(60 * time.Second)
	r.verdicts(4, 7, 0)
	actors("- - - bob the builder - - bob the builder - - bob the builder", "- bob the builder")
	r.sameAsReplay()
	if out, err := r.cli("verify", "--config", r.worker.Config(), "--stream", r.stream); err != nil || strings.Contains(out, "; signatures") {
		t.Errorf("verify: %v\n%s", err, out)
	}
	r.stop()
}

// A realistic log that is signed throughout, by a worker that dies and comes back:
// with the keys of half of its agents, and without keys.
func TestSignedLog(t *testing.T) {
	for _, enrolled := range []bool{true, false} {
		t.Run(fmt.Sprintf("enrolled=%t", enrolled), func(t *testing.T) {
			r := newRig(t)
			if enrolled {
				file := filepath.Join(t.TempDir(), "keys")
				r.replace(file, agdxlog.KeyLine("planner", "the planner")+agdxlog.KeyLine("coder", "the coder"))
				r.streamSetting(fmt.Sprintf("keys_file: %q", file))
			}
			var rs []agdxlog.Record
			for e := range agdxgen.New(agdxgen.Options{Stream: r.stream, Seed: 5, Sessions: 60, Signed: true}).All() {
				rs = append(rs, e.Record)
			}
			r.write(rs[:len(rs)/2]...)
			r.start()
			r.awaitMetric(float64(r.want.Records+r.want.Unattributed), "folder_source_records_total", `kind="folded"`)
			r.worker.Kill()
			r.write(rs[len(rs)/2:]...)
			r.start()
			r.await(60 * time.Second)
			r.sameAsReplay()
			verified, err := r.metric("folder_source_signatures_total", `verdict="verified"`)
			if err != nil || (verified > 0) != enrolled {
				t.Errorf("%v records verified, %v", verified, err)
			}
			if unknown, err := r.metric("folder_source_signatures_total", `verdict="unknown_key"`); err != nil || unknown == 0 {
				t.Errorf("%v records of unknown keys, %v", unknown, err)
			}
			r.stop()
		})
	}
}
