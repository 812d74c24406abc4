package app

import (
	"log/slog"
	"time"

	"sessionfold/cmd/folder/internal/telemetry"
	"sessionfold/fold"
	"sessionfold/index"
	"sessionfold/source"
	"sessionfold/wire"
)

// Config is everything a running worker needs to know. The zero value of a
// field marked "default" is replaced by that default.
type Config struct {
	Kafka source.Conn // brokers, TLS, SASL

	Group    string // consumer group; also the prefix of the changelog topics
	Instance string // stable name of this worker in its group; default: the host name

	Streams []Stream // at least one

	ChangesTopic      string // default: "<Group>-changes"
	ChangesPartitions int32  // when the topic is created; default 1
	ReplicationFactor int16  // of topics that are created; default -1, the broker's choice
	CheckTopics       bool   // only check changelog and changes topics, never create them

	SessionTimeout     time.Duration // of the group membership; default 45 s
	TransactionTimeout time.Duration // default 10 s
	MetadataMaxAge     time.Duration // how soon new topics and partitions are seen; default 15 s
	LeaveOnStop        bool          // leave the group when stopped, so that others take over at once

	DataDir    string // of the index; one process at a time
	CacheBytes int64  // of the index's block cache; default: the index's

	BatchInterval time.Duration // longest wait before a batch is committed; default 100 ms
	BatchRecords  int           // records that commit a batch at once; default 100,000
	BatchBytes    int           // likewise in bytes of keys and values; default 64 MiB
	CacheSessions int           // partials kept decoded per source; default: the worker's
	StopTimeout   time.Duration // longest time a stop may take; default 20 s

	Telemetry *telemetry.Telemetry // nil: nobody is told

	Logger *slog.Logger     // default: discards
	Now    func() time.Time // tells how old stored states are; default time.Now

	disk func(*index.Options) // tests let it fail
}

// Stream is a named group of topics that belong together.
type Stream struct {
	Name    string
	Dialect wire.Dialect
	// Auto lets the records of each topic tell its dialect.
	Auto bool
	// Topics beside those of the stream's name ("<name>.agent.*", consumed for
	// AGDX by default): inboxes (role work), per-agent lane topics, or the
	// topics of a foreign dialect (role lane).
	Topics []wire.TopicRole
	// OnlyTopics leaves the topics of the stream's name out.
	OnlyTopics bool
	Fold       fold.Config
	// Keys gives the keys in force that signatures are held against, for each batch
	// anew; nil: none are enrolled.
	Keys func() *wire.Keys
}

func (c *Config) heartbeat() time.Duration { return source.HeartbeatOf(c.SessionTimeout) }
