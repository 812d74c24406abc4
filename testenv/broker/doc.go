// Package broker runs kfake, a Kafka server in Go: in this process, with or
// without a data directory, for tests and for the embedded broker of `folder
// demo`. It does not import the testing package.
//
// What kfake keeps in a data directory (seen by the tests here): topics with
// their UUIDs and settings, records, transaction markers, producer ids and
// group offsets, across a clean Close and across a kill of the process.
package broker
