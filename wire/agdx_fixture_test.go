package wire

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// fixtures lists the vectors of another implementation whose name has the
// prefix. They are read from beside the project and are no part of it.
func fixtures(t testing.TB, prefix string) map[string][]byte {
	t.Helper()
	dir := os.Getenv("FOLDER_FIXTURES")
	if dir == "" {
		dir = filepath.Join("..", "..", "shared", "fixtures")
	}
	names, err := filepath.Glob(filepath.Join(dir, "agdx", prefix+"*.bin"))
	if err != nil {
		t.Fatal(err)
	}
	if len(names) == 0 {
		if os.Getenv("CI") == "true" {
			t.Fatalf("no fixtures under %s: set FOLDER_FIXTURES", dir)
		}
		t.Skipf("no fixtures under %s: set FOLDER_FIXTURES to run this test", dir)
	}
	out := map[string][]byte{}
	for _, n := range names {
		b, err := os.ReadFile(n)
		if err != nil {
			t.Fatal(err)
		}
		out[strings.TrimSuffix(filepath.Base(n), ".bin")] = b
	}
	return out
}

// notEnvelopes are the vectors that are bodies or capsules.
var notEnvelopes = map[string]bool{
	"agent_body_ref": true, "agent_error_body": true, "agent_signature": true, "agent_dead_letter": true,
}

func TestFixtureEnvelopesRoundTrip(t *testing.T) {
	for name, b := range fixtures(t, "agent_") {
		if notEnvelopes[name] {
			continue
		}
		e, err := DecodeEnvelope(b)
		if err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		if got := e.Marshal(); !bytes.Equal(got, b) {
			t.Errorf("%s: encodes as\n%x, want\n%x", name, got, b)
		}
		err = e.Validate()
		want, bad := map[string]string{
			"agent_invalid_chunk_late_deadline":     ReasonDeadlineLate,
			"agent_invalid_chunk_no_sequence":       ReasonSequenceMissing,
			"agent_invalid_chunk_open_no_operation": ReasonOperationMissing,
			"agent_invalid_command_no_correlation":  ReasonCorrelationMissing,
			"agent_invalid_error_last":              ReasonLastForbidden,
			"agent_invalid_event_task_state":        ReasonTaskStateForbidden,
			"agent_invalid_response_channel":        ReasonChannelForbidden,
			"agent_invalid_status_bad_operation":    ReasonOperationUnknown,
			"agent_invalid_status_no_operation":     ReasonOperationMissing,
			"agent_must_understand":                 ReasonMustUnderstand,
		}[name]
		switch {
		case !bad && strings.HasPrefix(name, "agent_invalid_"):
			t.Errorf("%s: no reason is written down for this vector", name)
		case !bad && err != nil:
			t.Errorf("%s: %v", name, err)
		case bad && err != Invalid(want):
			t.Errorf("%s: %v, want %v", name, err, Invalid(want))
		}
	}
}

func TestFixtureSignatureRoundTrips(t *testing.T) {
	b, ok := fixtures(t, "agent_signature")["agent_signature"]
	if !ok {
		t.Fatal("the vector is missing")
	}
	g, err := DecodeSignature(b)
	if err != nil {
		t.Fatal(err)
	}
	if got := g.Append(nil); !bytes.Equal(got, b) {
		t.Errorf("encodes as %x, want %x", got, b)
	}
}
