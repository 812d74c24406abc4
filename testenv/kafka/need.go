package kafka

import (
	"os"
	"os/exec"
	"testing"
)

// Need skips a test where the machine cannot run a broker. With CI=true that is
// a failure: a suite that silently did not run proves nothing.
func Need(tb testing.TB) {
	tb.Helper()
	for _, tool := range []string{"java", "mvn"} {
		if _, err := exec.LookPath(tool); err != nil {
			if os.Getenv("CI") == "true" {
				tb.Fatalf("%s is missing, and CI must run real brokers: %v", tool, err)
			}
			tb.Skipf("%s is missing: real brokers need Java 17 and Maven", tool)
		}
	}
}
