// Package kafka runs real Apache Kafka brokers on this machine without
// containers, for tests: the jars come from Maven Central, each node is one
// Java process with its own data directory. It needs Java 17 and Maven.
package kafka
