package k8stest

import (
	"fmt"
	"path/filepath"
	"testing"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	networkingv1 "k8s.io/api/networking/v1"
	policyv1 "k8s.io/api/policy/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/serializer"
	"sigs.k8s.io/kustomize/api/krusty"
	"sigs.k8s.io/kustomize/kyaml/filesys"
)

// dirs are the directories that users apply.
var dirs = []string{"base", "overlays/sasl-tls"}

// A deployment is what a directory renders to.
type deployment struct {
	set      *appsv1.StatefulSet
	services map[string]*corev1.Service
	configs  map[string]*corev1.ConfigMap
	account  *corev1.ServiceAccount
	budget   *policyv1.PodDisruptionBudget
	network  *networkingv1.NetworkPolicy
}

// render builds a directory and decodes every object strictly: a field that the
// type does not have, or that stands there twice, is an error.
func render(dir string) (*deployment, error) {
	scheme := runtime.NewScheme()
	for _, add := range []func(*runtime.Scheme) error{corev1.AddToScheme, appsv1.AddToScheme, networkingv1.AddToScheme, policyv1.AddToScheme} {
		if err := add(scheme); err != nil {
			return nil, err
		}
	}
	decoder := serializer.NewCodecFactory(scheme, serializer.EnableStrict).UniversalDeserializer()
	objects, err := krusty.MakeKustomizer(krusty.MakeDefaultOptions()).Run(filesys.MakeFsOnDisk(), dir)
	if err != nil {
		return nil, fmt.Errorf("%s does not render: %w", dir, err)
	}
	d := &deployment{services: map[string]*corev1.Service{}, configs: map[string]*corev1.ConfigMap{}}
	for _, o := range objects.Resources() {
		text, err := o.AsYAML()
		if err != nil {
			return nil, err
		}
		got, _, err := decoder.Decode(text, nil, nil)
		if err != nil {
			return nil, fmt.Errorf("%s: %s: %w", dir, o.CurId(), err)
		}
		switch v := got.(type) {
		case *appsv1.StatefulSet:
			d.set = v
		case *corev1.Service:
			d.services[v.Name] = v
		case *corev1.ConfigMap:
			d.configs[v.Name] = v
		case *corev1.ServiceAccount:
			d.account = v
		case *policyv1.PodDisruptionBudget:
			d.budget = v
		case *networkingv1.NetworkPolicy:
			d.network = v
		default:
			return nil, fmt.Errorf("%s: a %T is not looked at by any test", dir, got)
		}
	}
	if d.set == nil || d.account == nil || d.budget == nil || d.network == nil || len(d.services) != 2 || len(d.configs) != 1 {
		return nil, fmt.Errorf("%s lacks an object: %+v", dir, d)
	}
	if n := len(d.set.Spec.Template.Spec.Containers); n != 1 {
		return nil, fmt.Errorf("%s has %d containers, want 1", dir, n)
	}
	return d, nil
}

// each runs a test over every directory.
func each(t *testing.T, f func(t *testing.T, d *deployment)) {
	for _, dir := range dirs {
		t.Run(filepath.Base(dir), func(t *testing.T) {
			d, err := render(filepath.Join("..", "k8s", dir))
			if err != nil {
				t.Fatal(err)
			}
			f(t, d)
		})
	}
}

func (d *deployment) pod() *corev1.PodSpec { return &d.set.Spec.Template.Spec }

func (d *deployment) folder() *corev1.Container { return &d.pod().Containers[0] }
