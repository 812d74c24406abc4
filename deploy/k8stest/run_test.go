package k8stest

import (
	"context"
	"io"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
)

// A pod is the container's arguments, variables and files, below a directory of
// this test.
type pod struct {
	args, env []string
	values    map[string]string // of the variables
}

// pod makes what the container would find: files of ConfigMaps as they are, files
// of Secrets with content of the right kind, volumes as directories.
func (d *deployment) podIn(t *testing.T) *pod {
	t.Helper()
	root := t.TempDir()
	paths := []string{}
	volumes := map[string]corev1.Volume{}
	for _, v := range d.pod().Volumes {
		volumes[v.Name] = v
	}
	files := map[string]string{}
	for _, m := range d.folder().VolumeMounts {
		paths = append(paths, m.MountPath, filepath.Join(root, m.MountPath))
		if err := os.MkdirAll(filepath.Join(root, m.MountPath), 0o755); err != nil {
			t.Fatal(err)
		}
		v := volumes[m.Name]
		switch {
		case v.ConfigMap != nil:
			for name, text := range d.configs[v.ConfigMap.Name].Data {
				files[filepath.Join(root, m.MountPath, name)] = text
			}
		case v.Secret != nil && v.Secret.Items == nil: // all keys: those that docs/deployment.md makes
			files[filepath.Join(root, m.MountPath, "tokens")] = strings.Repeat("ab", 32) + " session:read stream:*\n"
		case v.Secret != nil:
			for _, i := range v.Secret.Items {
				files[filepath.Join(root, m.MountPath, i.Path)] = content(t, i.Key)
			}
		}
	}
	here := strings.NewReplacer(paths...)
	for name, text := range files {
		if err := os.WriteFile(name, []byte(here.Replace(text)), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	p := &pod{values: map[string]string{}}
	for _, a := range d.folder().Args {
		p.args = append(p.args, here.Replace(a))
	}
	for _, e := range d.folder().Env {
		value := e.Value
		if e.ValueFrom != nil {
			value = "sessionfold-0" // the pod's name is all that is asked for
		}
		p.values[e.Name] = here.Replace(value)
		p.env = append(p.env, e.Name+"="+p.values[e.Name])
	}
	return p
}

// content is of a Secret's key.
func content(t *testing.T, key string) string {
	t.Helper()
	if strings.HasSuffix(key, ".crt") {
		return authority(t)
	}
	return "not a secret\n"
}

// TestTheConfigurationIsValid: by the program itself, with the files where the
// manifests mount them.
func TestTheConfigurationIsValid(t *testing.T) {
	each(t, func(t *testing.T, d *deployment) {
		p := d.podIn(t)
		out := ask(t, p.env, append([]string{"config", "validate"}, p.args[1:]...)...)
		if !strings.HasPrefix(out, "configuration is valid") { // warnings would come first
			t.Errorf("folder config validate says:\n%s", out)
		}
		shown := ask(t, p.env, append([]string{"config", "print"}, p.args[1:]...)...)
		for name, port := range map[string]int32{"http": 8080, "admin": 9090} {
			i := indexOf(d.folder().Ports, name)
			if i < 0 || d.folder().Ports[i].ContainerPort != port {
				t.Fatalf("the container has no port %s %d", name, port)
			}
			if !regexp.MustCompile(`(?s)\n` + name + `:\n  listen: ":` + strconv.Itoa(int(port)) + `"`).MatchString(shown) {
				t.Errorf("port %s is %d in the manifest; the program listens elsewhere:\n%s", name, port, shown)
			}
		}
	})
}

func indexOf(ports []corev1.ContainerPort, name string) int {
	for i := range ports {
		if ports[i].Name == name {
			return i
		}
	}
	return -1
}

// TestProbesMeanWhatTheyShould runs the container's command without brokers: it
// has started and lives, and the paths that the probes ask are there.
func TestProbesMeanWhatTheyShould(t *testing.T) {
	each(t, func(t *testing.T, d *deployment) {
		p, c := d.podIn(t), d.folder()
		admin := free(t)
		cmd := exec.Command(build(t), p.args...)
		cmd.Env = append(p.env, "FOLDER_ADMIN_LISTEN="+admin, "FOLDER_HTTP_LISTEN="+free(t), "FOLDER_KAFKA_BROKERS=127.0.0.1:1")
		out := &strings.Builder{}
		cmd.Stdout, cmd.Stderr = out, out
		if err := cmd.Start(); err != nil {
			t.Fatal(err)
		}
		ended := make(chan error, 1)
		go func() { ended <- cmd.Wait() }()
		ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
		defer cancel()
		for _, probe := range []struct {
			name string
			p    *corev1.Probe
			path string
			want []int
		}{
			{"startup", c.StartupProbe, "/startupz", []int{200}},
			{"liveness", c.LivenessProbe, "/livez", []int{200}},
			{"readiness", c.ReadinessProbe, "/readyz", []int{200, 503}},
		} {
			if probe.p == nil || probe.p.HTTPGet == nil || probe.p.HTTPGet.Port.StrVal != "admin" || probe.p.HTTPGet.Path != probe.path {
				t.Errorf("the %s probe does not ask %s of the admin port: %+v", probe.name, probe.path, probe.p)
				continue
			}
			if got := await(ctx, "http://"+admin+probe.path, probe.want); got != "" {
				t.Errorf("the %s probe: %s", probe.name, got)
			}
		}
		if err := cmd.Process.Signal(syscall.SIGTERM); err != nil {
			t.Fatal(err)
		}
		select {
		case err := <-ended:
			if err != nil {
				t.Errorf("SIGTERM ends it with %v:\n%s", err, out)
			}
		case <-ctx.Done():
			_ = cmd.Process.Kill()
			<-ended
			t.Errorf("SIGTERM does not end it:\n%s", out)
		}
	})
}

// await asks until the status is one of those wanted; "" is success.
func await(ctx context.Context, url string, want []int) (last string) {
	for ctx.Err() == nil {
		res, err := http.Get(url)
		if err != nil {
			last = err.Error()
		} else {
			body, _ := io.ReadAll(res.Body)
			_ = res.Body.Close()
			for _, w := range want {
				if res.StatusCode == w {
					return ""
				}
			}
			last = res.Status + " " + string(body)
		}
		select {
		case <-ctx.Done():
		case <-time.After(50 * time.Millisecond):
		}
	}
	return last
}

func free(t *testing.T) string {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	return l.Addr().String()
}
