// Package deployed holds tests that run the program as deploy/k8s says, on this
// machine: a StatefulSet's pods are processes that see what the manifests mount
// and nothing else, and the kubelet and the controller are played by their rules.
package deployed
