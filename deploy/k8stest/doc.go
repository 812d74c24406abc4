// Package k8stest checks the manifests in deploy/k8s against the Kubernetes types
// and against the program: what they name, it has. It is a module of its own, so
// that nobody who builds the program pays for these libraries; what runs the
// program as the manifests say is testenv/deployed, in the program's module.
package k8stest
