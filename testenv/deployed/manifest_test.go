package deployed

import (
	"bytes"
	"encoding/json"
	"fmt"
	"os/exec"
	"path/filepath"
	"sync"
	"testing"

	"sessionfold/testenv/proc"
)

// manifest is what a directory renders to, as far as a kubelet, or the controller
// of a set, acts on it here. deploy/k8stest has decoded it strictly before.
type manifest struct {
	Set struct {
		Spec struct {
			Replicas, MinReadySeconds int
			Template                  struct{ Spec podSpec }
			VolumeClaimTemplates      []struct{ Metadata struct{ Name string } }
		}
	}
	Configs map[string]struct{ Data map[string]string }
}

type podSpec struct {
	TerminationGracePeriodSeconds int
	SecurityContext               struct{ RunAsUser, RunAsGroup, FSGroup int }
	Containers                    []container
	Volumes                       []volume
}

type volume struct {
	Name      string
	ConfigMap *struct{ Name string }
	Secret    *struct {
		SecretName  string
		DefaultMode uint32
		Items       []struct{ Key, Path string }
	}
}

type container struct {
	Image         string
	Command, Args []string
	Env           []struct {
		Name, Value string
		ValueFrom   *struct{ FieldRef struct{ FieldPath string } }
	}
	Ports []struct {
		Name          string
		ContainerPort int
	}
	StartupProbe, LivenessProbe, ReadinessProbe *probe
	Lifecycle                                   struct {
		PreStop struct {
			Sleep         struct{ Seconds int }
			Exec, HTTPGet any
		}
	}
	VolumeMounts []struct {
		Name, MountPath, SubPath string
		ReadOnly                 bool
	}
}

type probe struct {
	HTTPGet struct {
		Path string
		Port any // a name or a number
	}
	PeriodSeconds, TimeoutSeconds, FailureThreshold int
}

func (m *manifest) pod() *podSpec { return &m.Set.Spec.Template.Spec }

func (m *manifest) folder() *container { return &m.pod().Containers[0] }

// directories that are rendered, seen from deploy/k8stest: those that users apply,
// and an overlay as a user would write it.
var directories = map[string]string{
	"base": "../k8s/base", "sasl-tls": "../k8s/overlays/sasl-tls", "several": "../k8s/overlays/several", "three": "../../testenv/deployed/testdata/three",
}

var built struct {
	sync.Mutex
	bin  string
	done map[string]*manifest
}

// render gives what a directory renders to.
func render(t *testing.T, name string) *manifest {
	t.Helper()
	built.Lock()
	defer built.Unlock()
	if m := built.done[name]; m != nil {
		return m
	}
	m, err := rendered(directories[name])
	if err != nil {
		t.Fatal(err)
	}
	if built.done == nil {
		built.done = map[string]*manifest{}
	}
	built.done[name] = m
	return m
}

func rendered(dir string) (*manifest, error) {
	root, err := proc.Root()
	if err != nil {
		return nil, err
	}
	// A module of its own: its libraries are not the program's.
	cmd := exec.Command("go", "run", "./cmd/render", dir)
	cmd.Dir = filepath.Join(root, "deploy", "k8stest")
	var out, bad bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &bad
	if err := cmd.Run(); err != nil {
		return nil, fmt.Errorf("render %s: %w\n%s", dir, err, bad.Bytes())
	}
	m := &manifest{}
	if err := json.Unmarshal(out.Bytes(), m); err != nil {
		return nil, fmt.Errorf("render %s: %w", dir, err)
	}
	pre := &m.folder().Lifecycle.PreStop
	if m.folder().Command != nil || pre.Exec != nil || pre.HTTPGet != nil || pre.Sleep.Seconds == 0 {
		return nil, fmt.Errorf("%s: a command, or a preStop, that no pod here can play: %q, %+v", dir, m.folder().Command, pre)
	}
	return m, nil
}

// shipped runs a test over every directory that users apply.
func shipped(t *testing.T, f func(t *testing.T, m *manifest)) {
	for _, name := range []string{"base", "sasl-tls", "several"} {
		t.Run(name, func(t *testing.T) { f(t, render(t, name)) })
	}
}
