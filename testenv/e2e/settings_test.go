package e2e

import (
	"os"
	"strings"
)

// setting adds keys to a place of the worker's configuration file, before it
// starts: behind "kafka: {", or behind the stream's name.
func (r *rig) setting(behind, keys string) {
	r.Helper()
	text, err := os.ReadFile(r.worker.Config())
	if err != nil {
		r.Fatal(err)
	}
	if strings.Count(string(text), behind) != 1 {
		r.Fatalf("the configuration has not one %q:\n%s", behind, text)
	}
	text = []byte(strings.Replace(string(text), behind, behind+keys, 1))
	if err := os.WriteFile(r.worker.Config(), text, 0o600); err != nil {
		r.Fatal(err)
	}
}

// streamSetting adds keys to the rig's stream.
func (r *rig) streamSetting(keys string) {
	r.Helper()
	r.setting("{name: "+r.stream+", ", keys+", ")
}
