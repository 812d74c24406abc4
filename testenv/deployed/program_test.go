package deployed

import (
	"bytes"
	"debug/elf"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"sync"
	"testing"
	"time"

	"sessionfold/testenv/proc"
)

// program builds the program as the Containerfile does. It stays in bin, because
// most of the time is the linker's.
var program = sync.OnceValues(func() (string, error) {
	root, err := proc.Root()
	if err != nil {
		return "", err
	}
	text, err := os.ReadFile(filepath.Join(root, "deploy", "Containerfile"))
	if err != nil {
		return "", err
	}
	m := regexp.MustCompile(`(?m)^RUN (CGO_ENABLED=0) go (build .*) -o /folder (\./cmd/folder)$`).FindSubmatch(text)
	if m == nil {
		return "", fmt.Errorf("the Containerfile builds no static program:\n%s", text)
	}
	bin := filepath.Join(root, "bin", "image", "folder")
	cmd := exec.Command("go", append(strings.Fields(string(m[2])), "-o", bin, string(m[3]))...)
	cmd.Dir, cmd.Env = root, append(os.Environ(), string(m[1]))
	if out, err := cmd.CombinedOutput(); err != nil {
		return "", fmt.Errorf("%s: %w\n%s", cmd, err, out)
	}
	return bin, nil
})

func build(t *testing.T) string {
	t.Helper()
	bin, err := program()
	if err != nil {
		t.Fatal(err)
	}
	return bin
}

// ask runs a command of the program without any configuration.
func ask(t *testing.T, args ...string) string {
	t.Helper()
	cmd := exec.Command(build(t), args...)
	cmd.Env = []string{}
	out, err := cmd.CombinedOutput()
	if err != nil {
		t.Fatalf("folder %s: %v\n%s", strings.Join(args, " "), err, out)
	}
	return string(out)
}

// TestTheImage: a static program, a user that is not root, a base without a shell.
func TestTheImage(t *testing.T) {
	f, err := elf.Open(build(t))
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	for _, p := range f.Progs {
		if p.Type == elf.PT_INTERP {
			t.Error("the program needs a dynamic loader, which distroless/static has not")
		}
	}
	text, err := os.ReadFile("../../deploy/Containerfile")
	if err != nil {
		t.Fatal(err)
	}
	last := text[bytes.LastIndex(text, []byte("\nFROM ")):]
	for _, want := range []string{"FROM gcr.io/distroless/static-debian12:nonroot\n", "COPY --from=build /folder /folder\n", "USER 65532:65532\n", `ENTRYPOINT ["/folder"]`} {
		if !bytes.Contains(last, []byte(want)) {
			t.Errorf("the image lacks %q:\n%s", want, last)
		}
	}
	shipped(t, func(t *testing.T, m *manifest) {
		if u := m.pod().SecurityContext.RunAsUser; !bytes.Contains(last, fmt.Appendf(nil, "USER %d:", u)) {
			t.Errorf("the pod runs as %d, the image as another user", u)
		}
		if i := m.folder().Image; !strings.Contains(i, ":") || strings.HasSuffix(i, ":latest") {
			t.Errorf("image %s has no version", i)
		}
	})
}

// TestVariablesAndFlagsExist: the program would ignore an unknown variable.
func TestVariablesAndFlagsExist(t *testing.T) {
	docs, help := ask(t, "config", "docs"), ask(t, "run", "--help")
	shipped(t, func(t *testing.T, m *manifest) {
		args := m.folder().Args
		if len(args) == 0 || args[0] != "run" {
			t.Fatalf("arguments %q do not run a worker", args)
		}
		for _, a := range args[1:] {
			if name, _, _ := strings.Cut(a, "="); !regexp.MustCompile(`(?m)^ .*` + regexp.QuoteMeta(name) + `\b`).MatchString(help) {
				t.Errorf("folder run has no flag %s", name)
			}
		}
		for _, e := range m.folder().Env {
			if e.Name != "GOMEMLIMIT" && !strings.Contains(docs, "`"+e.Name+"`") {
				t.Errorf("the program reads no variable %s", e.Name)
			}
		}
	})
}

// TestGraceIsLongerThanAStop: a worker that is killed in its last commit loses
// nothing, but its successor folds that again.
func TestGraceIsLongerThanAStop(t *testing.T) {
	says := regexp.MustCompile(`A stop ends within (\S+)\. `).FindStringSubmatch(ask(t, "run", "--help"))
	if says == nil {
		t.Fatal("folder run --help does not say how long a stop takes")
	}
	bound, err := time.ParseDuration(says[1])
	if err != nil {
		t.Fatal(err)
	}
	session := regexp.MustCompile(`(?m)^  session_timeout: (\S+)$`)
	shipped(t, func(t *testing.T, m *manifest) {
		pre := time.Duration(m.folder().Lifecycle.PreStop.Sleep.Seconds) * time.Second
		grace := time.Duration(m.pod().TerminationGracePeriodSeconds) * time.Second
		if grace <= pre+bound {
			t.Errorf("terminationGracePeriodSeconds is %s; preStop and the program's own bound are %s", grace, pre+bound)
		}
		for _, c := range m.Configs {
			s := session.FindStringSubmatch(c.Data["folder.yaml"])
			if s == nil {
				t.Fatal("the configuration sets no session_timeout")
			}
			if timeout, err := time.ParseDuration(s[1]); err != nil || timeout <= grace {
				t.Errorf("session_timeout %s (%v) is not longer than the grace of %s: a slow restart would move partitions", s[1], err, grace)
			}
		}
	})
}
