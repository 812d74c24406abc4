package k8stest

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
)

// program builds the program as the Containerfile does.
var program = sync.OnceValues(func() (string, error) {
	text, err := os.ReadFile("../Containerfile")
	if err != nil {
		return "", err
	}
	m := regexp.MustCompile(`(?m)^RUN (CGO_ENABLED=0) go (build .*) -o /folder (\./cmd/folder)$`).FindSubmatch(text)
	if m == nil {
		return "", fmt.Errorf("the Containerfile builds no static program:\n%s", text)
	}
	dir, err := os.MkdirTemp("", "k8stest-")
	if err != nil {
		return "", err
	}
	bin := filepath.Join(dir, "folder")
	cmd := exec.Command("go", append(strings.Fields(string(m[2])), "-o", bin, string(m[3]))...)
	cmd.Dir, cmd.Env = "../..", append(os.Environ(), string(m[1]))
	if out, err := cmd.CombinedOutput(); err != nil {
		return "", fmt.Errorf("%s: %w\n%s", cmd, err, out)
	}
	return bin, nil
})

func TestMain(m *testing.M) {
	code := m.Run()
	if bin, err := program(); err == nil {
		_ = os.RemoveAll(filepath.Dir(bin))
	}
	os.Exit(code)
}

func build(t *testing.T) string {
	t.Helper()
	bin, err := program()
	if err != nil {
		t.Fatal(err)
	}
	return bin
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
	text, err := os.ReadFile("../Containerfile")
	if err != nil {
		t.Fatal(err)
	}
	last := text[bytes.LastIndex(text, []byte("\nFROM ")):]
	for _, want := range []string{"FROM gcr.io/distroless/static-debian12:nonroot\n", "COPY --from=build /folder /folder\n", "USER 65532:65532\n", `ENTRYPOINT ["/folder"]`} {
		if !bytes.Contains(last, []byte(want)) {
			t.Errorf("the image lacks %q:\n%s", want, last)
		}
	}
	each(t, func(t *testing.T, d *deployment) {
		if u := *d.pod().SecurityContext.RunAsUser; !bytes.Contains(last, fmt.Appendf(nil, "USER %d:", u)) {
			t.Errorf("the pod runs as %d, the image as another user", u)
		}
		if i := d.folder().Image; !strings.Contains(i, ":") || strings.HasSuffix(i, ":latest") {
			t.Errorf("image %s has no version", i)
		}
	})
}

// ask runs a command of the program and gives what it prints.
func ask(t *testing.T, env []string, args ...string) string {
	t.Helper()
	cmd := exec.Command(build(t), args...)
	cmd.Env = env
	out, err := cmd.CombinedOutput()
	if err != nil {
		t.Fatalf("folder %s: %v\n%s", strings.Join(args, " "), err, out)
	}
	return string(out)
}

// TestVariablesAndFlagsExist: the program would ignore an unknown variable.
func TestVariablesAndFlagsExist(t *testing.T) {
	docs, help := ask(t, nil, "config", "docs"), ask(t, nil, "run", "--help")
	each(t, func(t *testing.T, d *deployment) {
		if args := d.folder().Args; len(args) == 0 || args[0] != "run" {
			t.Errorf("arguments %q do not run a worker", args)
		}
		for _, a := range d.folder().Args[1:] {
			if name, _, _ := strings.Cut(a, "="); !regexp.MustCompile(`(?m)^ .*` + regexp.QuoteMeta(name) + `\b`).MatchString(help) {
				t.Errorf("folder run has no flag %s", name)
			}
		}
		for _, e := range d.folder().Env {
			if e.Name != "GOMEMLIMIT" && !strings.Contains(docs, "`"+e.Name+"`") {
				t.Errorf("the program reads no variable %s", e.Name)
			}
		}
	})
}
