// Package k8stest checks the manifests in deploy/k8s against the Kubernetes types
// and against the program: what they name, it has. It is a module of its own, so
// that nobody who builds the program pays for these libraries.
package k8stest
