package composetest

import (
	"context"
	"os"
	"regexp"
	"strings"
	"testing"

	"github.com/compose-spec/compose-go/v2/loader"
	"github.com/compose-spec/compose-go/v2/types"
)

const file = "../redpanda-compose.yml"

func load(t *testing.T) *types.Project {
	t.Helper()
	text, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	p, err := loader.LoadWithContext(context.Background(), types.ConfigDetails{
		WorkingDir:  "..",
		ConfigFiles: []types.ConfigFile{{Filename: file, Content: text}},
	})
	if err != nil {
		t.Fatalf("%s does not load: %v", file, err)
	}
	return p
}

func TestServicesAndOrder(t *testing.T) {
	p := load(t)
	for _, name := range []string{"redpanda", "init", "console"} {
		if _, ok := p.Services[name]; !ok {
			t.Errorf("service %q is missing", name)
		}
	}
	if p.Services["redpanda"].HealthCheck == nil {
		t.Error("redpanda has no health check: nothing can wait for it")
	}
	for _, name := range []string{"init", "console"} {
		if got := p.Services[name].DependsOn["redpanda"].Condition; got != types.ServiceConditionHealthy {
			t.Errorf("%s waits for redpanda to be %q, want %q", name, got, types.ServiceConditionHealthy)
		}
	}
}

func TestImagesArePinned(t *testing.T) {
	version := regexp.MustCompile(`:v\d+\.\d+\.\d+$`)
	for name, s := range load(t).Services {
		if !version.MatchString(s.Image) {
			t.Errorf("%s: image %q has no full version: a run next month would be another run", name, s.Image)
		}
	}
}

func TestTopicsAreCreatedByHand(t *testing.T) {
	p := load(t)
	script := strings.Join(p.Services["init"].Command, "\n")
	if !strings.Contains(script, "auto_create_topics_enabled false") {
		t.Error("init leaves automatic creation of topics as it is")
	}
	if strings.Contains(strings.Join(p.Services["redpanda"].Command, " "), "dev-container") {
		t.Error("mode dev-container turns automatic creation of topics on")
	}
}

// Ports on every interface would publish a broker without authentication.
func TestPortsAreLocal(t *testing.T) {
	for name, s := range load(t).Services {
		for _, port := range s.Ports {
			if port.HostIP != "127.0.0.1" {
				t.Errorf("%s: port %s is published on %q, want 127.0.0.1", name, port.Published, port.HostIP)
			}
		}
	}
}
