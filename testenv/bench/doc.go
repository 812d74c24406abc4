// Package bench measures the worker as its users run it: `folder run` and the
// broker are processes of their own, everything goes over sockets, exactly-once
// is on. The command is testenv/cmd/bench, `make bench`.
//
// What is measured. Throughput: a log is preloaded; time runs from the worker's
// first fetch of the lane topic, as the broker sees it, to the moment at which
// a read over HTTP shows the last offset of every partition. Drain: the same for
// a consumer that throws the records away. Latency: from handing a record to the
// producer to the first read that shows its offset.
package bench
