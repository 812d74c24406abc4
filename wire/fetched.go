package wire

import "strconv"

// TopicPartition names a partition of a topic without its generation: the unit
// that the broker assigns. A Source is a TopicPartition that was identified.
type TopicPartition struct {
	Topic     string
	Partition int32
}

// String reads "topic[partition]".
func (tp TopicPartition) String() string {
	return tp.Topic + "[" + strconv.FormatInt(int64(tp.Partition), 10) + "]"
}

// Fetched is what one poll brought for one partition.
type Fetched struct {
	TopicPartition
	Records  []Raw // offsets ascend; valid until the next poll, the bytes behind it until Release
	Bytes    int   // of keys and values
	LogStart int64 // first offset the broker holds, -1 when it did not say
	High     int64 // offset behind the last record, -1 when it did not say
	Epoch    int32 // leader epoch of the last record, -1 when unknown or without records
	Err      error // the partition's error, nil when it was read
	Former   bool  // Err says that the client asks for a topic that is gone; there may be another one of its name
	// Release gives the memory behind the records back, once nobody reads them
	// any more; without it the garbage collector gets it. Nil: nothing to give back.
	Release func()
}

// Identity is what a topic partition is right now.
type Identity struct {
	Source     *Source
	TopicUUID  [16]byte
	Partitions int32 // of the topic
	LogStart   uint64
	High       uint64 // high watermark: the offset behind the last record
}

// Held is how much of what was folded of a source, the offsets below some next
// one, its leader still has.
type Held struct {
	End  uint64 // the offsets from here to the next one are lost; the next one itself: none
	High uint64 // high watermark
	// Sure says that End follows from leader epochs. Else it is only the smaller
	// of next and High, and records that took lost offsets over go unnoticed.
	Sure  bool
	Epoch int32 // leader epoch of the last folded record, -1 when unknown
}
