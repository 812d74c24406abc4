// Package wire turns the bytes of Kafka records into dialect-free Records and
// back: ids, positions, the AGDX envelope, limits, read types and change rows.
//
// The package is pure: no clock, no randomness, no I/O. Decoding never fails
// with an error: a record that cannot be read is a Record whose Display says
// so, because bad data is a row and a number and never stops a partition.
package wire
