// Package e2e holds the suite that runs the whole program as its users do:
// `folder run` as a process, records through a broker, reads over HTTP. It runs
// on kfake in a process of its own, or on the cluster that FOLDER_TEST_BROKERS
// names. What it expects is counted from the records that it wrote, and held
// against an offline replay of the same log.
package e2e
