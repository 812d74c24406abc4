package deployed

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"runtime"
	"strings"
	"syscall"
	"testing"

	"sessionfold/testenv/proc"
)

// jailed: where the test may, a pod's process has a root of its own, read-only to
// it, with the paths of the manifest, and runs as the manifest's user. Elsewhere
// the mounts are directories of the test, and their paths are replaced.
var jailed = os.Geteuid() == 0 && runtime.GOOS == "linux"

// surroundings are what pods find that the manifests do not bring.
type surroundings struct {
	secrets map[string]map[string]string // by name and key
	brokers map[string]string            // by the address in the manifests: where they are
}

// documented are the Secrets that docs/deployment.md tells to make, with the
// content that a test gives for each key.
func documented(t *testing.T, content map[string]string) map[string]map[string]string {
	t.Helper()
	text, err := os.ReadFile("../../docs/deployment.md")
	if err != nil {
		t.Fatal(err)
	}
	out := map[string]map[string]string{}
	for _, m := range regexp.MustCompile(`(?m)^kubectl create secret generic (\S+) --from-file=(\S+)$`).FindAllStringSubmatch(string(text), -1) {
		if content[m[2]] == "" {
			t.Fatalf("docs/deployment.md has a Secret %s with the key %s, which is unknown here", m[1], m[2])
		}
		out[m[1]] = map[string]string{m[2]: content[m[2]]}
	}
	return out
}

// A pod is the container of a manifest under one name. Started again it has its
// claimed volumes, and nothing else of its life before.
type pod struct {
	*testing.T
	name  string
	m     *manifest
	of    *surroundings
	ports map[int]int // of the container → of this machine, where several pods share one address
	env   []string
	args  []string

	dir   string // of the roots
	root  string
	lives int
	here  *strings.Replacer // what one machine cannot give, in arguments, variables and files
	proc  *proc.Process
	alive chan error // gets how the liveness probe ended
	quit  chan struct{}
}

func newPod(t *testing.T, m *manifest, name string, of *surroundings) *pod {
	t.Helper()
	p := &pod{T: t, m: m, name: name, of: of, ports: map[int]int{}, dir: t.TempDir()}
	if err := os.Chmod(p.dir, 0o755); err != nil {
		t.Fatal(err)
	}
	ports, err := proc.Ports(len(m.folder().Ports))
	if err != nil {
		t.Fatal(err)
	}
	for i, port := range m.folder().Ports {
		p.ports[port.ContainerPort] = ports[i]
	}
	p.mount()
	return p
}

// mount makes a new root: the program, the hosts file that a kubelet writes, and
// what the manifest mounts.
func (p *pod) mount() {
	p.Helper()
	old := p.root
	p.lives++
	p.root = filepath.Join(p.dir, fmt.Sprint(p.lives))
	p.must(os.Mkdir(p.root, 0o755))
	if os.Link(build(p.T), filepath.Join(p.root, "folder")) != nil { // another file system
		text, err := os.ReadFile(build(p.T))
		p.must(err)
		p.put("/folder", string(text), 0o755, 0)
	}
	var replaced []string
	for container, port := range p.ports {
		replaced = append(replaced, fmt.Sprintf(":%d", container), fmt.Sprintf(":%d", port))
	}
	for addr, there := range p.of.brokers {
		replaced = append(replaced, addr, there)
	}
	for _, m := range p.m.folder().VolumeMounts {
		if !jailed {
			replaced = append(replaced, m.MountPath, filepath.Join(p.root, m.MountPath))
		}
	}
	p.here = strings.NewReplacer(replaced...)
	p.put("/etc/hosts", "127.0.0.1 localhost "+p.name+"\n", 0o644, 0)

	spec := p.m.pod()
	volumes, claims := map[string]*volume{}, map[string]bool{}
	for i := range spec.Volumes {
		volumes[spec.Volumes[i].Name] = &spec.Volumes[i]
	}
	for _, c := range p.m.Set.Spec.VolumeClaimTemplates {
		claims[c.Metadata.Name] = true
	}
	for _, m := range p.m.folder().VolumeMounts {
		v := volumes[m.Name]
		switch {
		case m.SubPath != "":
			p.Fatalf("mount %s has a subPath, which no pod here can play", m.Name)
		case claims[m.Name]:
			p.claim(m.MountPath, old)
		case v == nil:
			p.Fatalf("mount %s has no volume", m.Name)
		case v.ConfigMap != nil:
			for file, text := range p.m.Configs[v.ConfigMap.Name].Data {
				p.put(filepath.Join(m.MountPath, file), p.here.Replace(text), 0o644, 0)
			}
		case v.Secret != nil:
			p.secret(v, m.MountPath)
		default:
			p.Fatalf("volume %s is of a kind that no pod here can play", m.Name)
		}
	}
	p.args, p.env = nil, []string{}
	for _, a := range p.m.folder().Args {
		p.args = append(p.args, p.here.Replace(a))
	}
	for _, e := range p.m.folder().Env {
		if f := e.ValueFrom; f != nil {
			if f.FieldRef.FieldPath != "metadata.name" {
				p.Fatalf("variable %s is of %q, which no pod here can play", e.Name, f.FieldRef.FieldPath)
			}
			e.Value = p.name
		}
		p.env = append(p.env, e.Name+"="+p.here.Replace(e.Value))
	}
}

func (p *pod) must(errs ...error) {
	p.Helper()
	if err := errors.Join(errs...); err != nil {
		p.Fatal(err)
	}
}

// put writes a file that the pod may read and not write.
func (p *pod) put(path, text string, mode fs.FileMode, group int) {
	p.Helper()
	file := filepath.Join(p.root, path)
	p.must(os.MkdirAll(filepath.Dir(file), 0o755), os.WriteFile(file, []byte(text), mode))
	if jailed {
		p.must(os.Chown(file, 0, group))
	}
}

// claim mounts the pod's own volume, as a kubelet prepares it for the fsGroup.
func (p *pod) claim(path, old string) {
	p.Helper()
	dir := filepath.Join(p.root, path)
	p.must(os.MkdirAll(filepath.Dir(dir), 0o755))
	if old != "" {
		p.must(os.Rename(filepath.Join(old, path), dir))
		return
	}
	p.must(os.Mkdir(dir, 0o755))
	if jailed {
		p.must(os.Chown(dir, 0, p.m.pod().SecurityContext.FSGroup), os.Chmod(dir, 0o775|fs.ModeSetgid))
	}
}

// secret mounts the keys of a Secret that the volume names, or all. A kubelet
// waits for one that is not there; here it is an error.
func (p *pod) secret(v *volume, path string) {
	p.Helper()
	have := p.of.secrets[v.Secret.SecretName]
	if have == nil {
		p.Fatalf("there is no Secret %s", v.Secret.SecretName)
	}
	files := map[string]string{}
	for key := range have {
		files[key] = key
	}
	if items := v.Secret.Items; items != nil {
		files = map[string]string{}
		for _, i := range items {
			files[i.Key] = i.Path
		}
	}
	for key, file := range files {
		text, ok := have[key]
		if !ok {
			p.Fatalf("Secret %s has no key %s", v.Secret.SecretName, key)
		}
		p.put(filepath.Join(path, file), text, fs.FileMode(v.Secret.DefaultMode), p.m.pod().SecurityContext.FSGroup)
	}
}

// command is the program in the pod: what the container runs, or kubectl exec.
// Variables may be added.
func (p *pod) command(args []string, more ...string) *exec.Cmd {
	bin := filepath.Join(p.root, "folder")
	if jailed {
		bin = "/folder"
	}
	cmd := exec.Command(bin, args...)
	cmd.Dir, cmd.Env = p.root, append(p.env[:len(p.env):len(p.env)], more...)
	if jailed {
		user := &p.m.pod().SecurityContext
		cmd.Dir = "/"
		cmd.SysProcAttr = &syscall.SysProcAttr{Chroot: p.root, Credential: &syscall.Credential{
			Uid: uint32(user.RunAsUser), Gid: uint32(user.RunAsGroup), Groups: []uint32{uint32(user.FSGroup)},
		}}
	}
	return cmd
}

// exec is kubectl exec POD -- /folder ARGS.
func (p *pod) exec(args ...string) (string, error) {
	return p.execWith(nil, args...)
}

// execWith is exec with further variables.
func (p *pod) execWith(env []string, args ...string) (string, error) {
	replaced := make([]string, len(args))
	for i, a := range args {
		replaced[i] = p.here.Replace(a)
	}
	cmd := p.command(replaced, env...)
	var out, bad strings.Builder
	cmd.Stdout, cmd.Stderr = &out, &bad
	if err := cmd.Run(); err != nil {
		return out.String(), fmt.Errorf("%s: folder %s: %w\n%s%s", p.name, strings.Join(args, " "), err, out.String(), bad.String())
	}
	return out.String(), nil
}
