package testenv_test

import (
	"strings"
	"testing"

	"sessionfold/testenv"
	"sessionfold/wire"
)

// The checker itself must be able to fail.
func TestCheckChanges(t *testing.T) {
	row := func(partition uint32, seq, from, to uint64) wire.ChangeRow {
		return wire.ChangeRow{V: 1, Stream: "s", Source: wire.ChangeSource{Topic: "t", Partition: partition}, Seq: seq, From: from, To: to}
	}
	for name, c := range map[string]struct {
		rows []wire.ChangeRow
		want string
	}{
		"good":       {[]wire.ChangeRow{row(0, 1, 0, 4), row(1, 1, 0, 2), row(0, 2, 5, 5), row(1, 2, 3, 9)}, ""},
		"hole":       {[]wire.ChangeRow{row(0, 1, 0, 4), row(0, 3, 5, 6)}, "follows seq 1"},
		"double":     {[]wire.ChangeRow{row(0, 1, 0, 4), row(0, 1, 0, 4)}, "follows seq 1"},
		"overlap":    {[]wire.ChangeRow{row(0, 1, 0, 4), row(0, 2, 4, 6)}, "ended at 4"},
		"lost range": {[]wire.ChangeRow{row(0, 1, 0, 4), row(0, 2, 6, 6)}, "ended at 4"},
		"late start": {[]wire.ChangeRow{row(0, 1, 3, 4)}, "first row"},
	} {
		ends, err := testenv.CheckChanges(c.rows)
		if c.want == "" {
			if err != nil || ends[wire.ChangeSource{Topic: "t", Partition: 1}] != 9 {
				t.Errorf("%s: %v, %v", name, ends, err)
			}
			continue
		}
		if err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: %v, want %q", name, err, c.want)
		}
	}
}
