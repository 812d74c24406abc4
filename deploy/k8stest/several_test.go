package k8stest

import (
	"maps"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"

	"sessionfold/deploy/k8stest/rendered"
)

// TestWorkersReachEachOther: the name that stands for the other workers is that
// of the headless Service, its port is the one of the reads, and the network lets
// pods of the set through to it, both ways.
func TestWorkersReachEachOther(t *testing.T) {
	d, err := rendered.Render(filepath.Join("..", "k8s", "overlays", "several"))
	if err != nil {
		t.Fatal(err)
	}
	env := d.Folder().Env
	i := slices.IndexFunc(env, func(e corev1.EnvVar) bool { return e.Name == "FOLDER_HTTP_PEERS" })
	if i < 0 || env[i].Value != "dns+http://"+d.Set.Spec.ServiceName+":8080" {
		t.Errorf("FOLDER_HTTP_PEERS is not the headless Service %s", d.Set.Spec.ServiceName)
	}
	ports := d.Folder().Ports
	if j := slices.IndexFunc(ports, func(p corev1.ContainerPort) bool { return p.Name == "http" }); j < 0 || ports[j].ContainerPort != 8080 {
		t.Errorf("the reads are not on port 8080: %v", ports)
	}
	i = slices.IndexFunc(env, func(e corev1.EnvVar) bool { return e.Name == "FOLDER_HTTP_PEERS_TOKEN_FILE" })
	if i < 0 || !slices.ContainsFunc(d.Folder().VolumeMounts, func(m corev1.VolumeMount) bool { return strings.HasPrefix(env[i].Value, m.MountPath+"/") }) {
		t.Error("the token for the other workers is not mounted")
	}
	pods := d.Set.Spec.Selector.MatchLabels
	in, out := false, false
	for _, r := range d.Network.Spec.Ingress {
		for _, f := range r.From {
			in = in || f.PodSelector != nil && f.NamespaceSelector == nil && maps.Equal(f.PodSelector.MatchLabels, pods) && r.Ports[0].Port.String() == "http"
		}
	}
	for _, r := range d.Network.Spec.Egress {
		for _, f := range r.To {
			out = out || f.PodSelector != nil && f.NamespaceSelector == nil && maps.Equal(f.PodSelector.MatchLabels, pods) && r.Ports[0].Port.IntValue() == 8080
		}
	}
	if !in || !out {
		t.Errorf("the network policy lets workers in: %v, out: %v", in, out)
	}
	if *d.Set.Spec.Replicas < 2 {
		t.Errorf("%d replicas", *d.Set.Spec.Replicas)
	}
}
