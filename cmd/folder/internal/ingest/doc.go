// Package ingest sends log files of DeepStrike and Everruns to Kafka. Each record
// says in a header which line of which file it is, so a topic tells what it has
// already, and an import that was interrupted goes on without sending a line twice
// (decision 0012).
package ingest
