// Package source is Kafka coming in: the group consumer with its assignments,
// positions and log starts, the identity of topics, the reading of changelog
// partitions, and the reads of the changes topic and of live heads.
//
// It hands out records as views of what the client fetched, so one record costs
// no allocation on its way to the decoder.
package source
