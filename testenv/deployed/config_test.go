package deployed

import (
	"errors"
	"net/http"
	"regexp"
	"strconv"
	"strings"
	"testing"
	"time"

	"sessionfold/testenv"
	"sessionfold/testenv/certs"
	"sessionfold/testenv/folder"
)

// somewhere are brokers that do not answer, and Secrets of the right kind.
func somewhere(t *testing.T) *surroundings {
	t.Helper()
	ca, err := certs.New("an authority")
	if err != nil {
		t.Fatal(err)
	}
	return &surroundings{
		secrets: documented(t, map[string]string{"tokens": strings.Repeat("ab", 32) + " session:read stream:*\n", "ca.crt": string(ca.PEM), "password": "not a secret\n", "token": strings.Repeat("cd", 32) + "\n"}),
		brokers: map[string]string{"kafka-bootstrap.kafka.svc:9092": "127.0.0.1:1", "kafka-bootstrap.kafka.svc:9093": "127.0.0.1:1"},
	}
}

// TestTheConfigurationIsValid: by the program itself, with the files where the
// manifests mount them.
func TestTheConfigurationIsValid(t *testing.T) {
	shipped(t, func(t *testing.T, m *manifest) {
		p := newPod(t, m, "sessionfold-0", somewhere(t))
		args := m.folder().Args[1:]
		out, err := p.exec(append([]string{"config", "validate"}, args...)...)
		if err != nil || !strings.HasPrefix(out, "configuration is valid") { // warnings would come first
			t.Errorf("folder config validate says: %v\n%s", err, out)
		}
		shown, err := p.exec(append([]string{"config", "print"}, args...)...)
		if err != nil {
			t.Fatal(err)
		}
		for _, name := range []string{"http", "admin"} {
			if !regexp.MustCompile(`(?s)\n` + name + `:\n  listen: ":` + strconv.Itoa(p.port(name)) + `"`).MatchString(shown) {
				t.Errorf("port %s of the manifest is not the one that the program listens on:\n%s", name, shown)
			}
		}
	})
}

// TestProbesMeanWhatTheyShould runs the container without brokers: it has started
// and lives, and is not ready; SIGTERM ends it in order.
func TestProbesMeanWhatTheyShould(t *testing.T) {
	shipped(t, func(t *testing.T, m *manifest) {
		p, c := newPod(t, m, "sessionfold-0", somewhere(t)), m.folder()
		for path, probe := range map[string]*probe{"/startupz": c.StartupProbe, "/livez": c.LivenessProbe, "/readyz": c.ReadinessProbe} {
			if probe == nil || probe.HTTPGet.Port != "admin" || probe.HTTPGet.Path != path {
				t.Fatalf("the probe of %s does not ask it of the admin port: %+v", path, probe)
			}
		}
		p.start()
		testenv.Eventually(t, time.Minute, func() error { return p.ask(c.LivenessProbe) })
		// Without brokers it has no partitions, so it may be ready.
		var status *folder.StatusError
		if _, err := p.worker("").Get(t.Context(), p.url("admin")+"/readyz"); err != nil && (!errors.As(err, &status) || status.Status != http.StatusServiceUnavailable) {
			t.Errorf("the readiness probe: %v", err)
		}
		if err := p.end(0); err != nil {
			t.Error(err)
		}
	})
}
