// Package replay folds a log from files, without a broker, through the worker's
// own code into a store in memory. It also defines the format of such logs.
//
// A log is NDJSON, one record per line:
//
//	{"topic":"agents.agent.sessions","partition":0,"offset":7,"timestamp":1764440000000,
//	 "key":"MDFK…","headers":[{"key":"agdx.av","value":"AAAAAQ=="}],"value":"qGRr…"}
//
// timestamp is in milliseconds; key, header values and value are base64, null or
// absent when the record has none. The records of a partition ascend by offset.
// A line with "log_start" instead of an offset says where the partition began
// when it was exported. Files ending in .gz are decompressed.
package replay
