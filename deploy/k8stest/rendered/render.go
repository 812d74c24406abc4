// Package rendered turns a directory of manifests into the objects that users
// would apply.
package rendered

import (
	"fmt"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	networkingv1 "k8s.io/api/networking/v1"
	policyv1 "k8s.io/api/policy/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/serializer"
	"sigs.k8s.io/kustomize/api/krusty"
	"sigs.k8s.io/kustomize/kyaml/filesys"
)

// Deployment is what a directory renders to.
type Deployment struct {
	Set      *appsv1.StatefulSet           `json:"set"`
	Services map[string]*corev1.Service    `json:"services"`
	Configs  map[string]*corev1.ConfigMap  `json:"configs"`
	Account  *corev1.ServiceAccount        `json:"account"`
	Budget   *policyv1.PodDisruptionBudget `json:"budget"`
	Network  *networkingv1.NetworkPolicy   `json:"network"`
}

// Render builds a directory and decodes every object strictly: a field that the
// type does not have, or that stands there twice, is an error.
func Render(dir string) (*Deployment, error) {
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
	d := &Deployment{Services: map[string]*corev1.Service{}, Configs: map[string]*corev1.ConfigMap{}}
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
			d.Set = v
		case *corev1.Service:
			d.Services[v.Name] = v
		case *corev1.ConfigMap:
			d.Configs[v.Name] = v
		case *corev1.ServiceAccount:
			d.Account = v
		case *policyv1.PodDisruptionBudget:
			d.Budget = v
		case *networkingv1.NetworkPolicy:
			d.Network = v
		default:
			return nil, fmt.Errorf("%s: a %T is not looked at by any test", dir, got)
		}
	}
	if d.Set == nil || d.Account == nil || d.Budget == nil || d.Network == nil || len(d.Services) != 2 || len(d.Configs) != 1 {
		return nil, fmt.Errorf("%s lacks an object: %+v", dir, d)
	}
	if n := len(d.Set.Spec.Template.Spec.Containers); n != 1 {
		return nil, fmt.Errorf("%s has %d containers, want 1", dir, n)
	}
	return d, nil
}

// Pod is the template of the set's pods.
func (d *Deployment) Pod() *corev1.PodSpec { return &d.Set.Spec.Template.Spec }

// Folder is its one container.
func (d *Deployment) Folder() *corev1.Container { return &d.Pod().Containers[0] }
