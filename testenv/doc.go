// Package testenv gives tests a Kafka: kfake in the test's process, kfake in a
// process of its own, or the real cluster that FOLDER_TEST_BROKERS names, all
// behind one type, so that one suite runs on each of them.
//
// Its subpackages: broker (kfake as a library), proc (this module's programs as
// child processes), agdxlog (AGDX records, written down readably), agdxgen
// (realistic AGDX logs from a seed), expect (what such a log must come to), e2e
// (the suite and the kill harness), deployed (deploy/k8s, played on this
// machine), bench (the benchmark). Of these only broker and agdxgen (and agdxlog, which
// it uses) are linked into the program, for `folder demo`; they do not import
// testing.
package testenv
