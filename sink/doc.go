// Package sink is Kafka going out: the changelog records, change rows and
// source offsets of a commit in one transaction, and the topics they go to.
//
// A transaction is ended only after every record is acknowledged, the changelog
// goes on exactly where the state of each source stands, and the sources are
// still owned. Everything but "committed" is a Failure, and every Failure has
// the same first reaction: the state of the step's sources is dropped and
// restored. The table of reactions says what is needed beside that.
package sink
