package source

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kgo"

	"sessionfold/wire"
)

// Heartbeats follows the heartbeat topics of all streams, on all partitions and
// outside the group: every worker needs to know of every session whether a
// process still holds it, whoever folds its records. What it hears is kept in
// memory only; after a restart it is read again from the topics (spec agdx.md,
// section 7; session-index.md, section 5).
type Heartbeats struct {
	conn    Conn
	horizon time.Duration
	now     func() time.Time

	mu      sync.Mutex
	streams map[string]*pulse // by stream
	topics  map[string]*pulse // by topic
	err     error             // what keeps the tail from reading, nil when it reads
}

// pulse is what is heard of one stream.
type pulse struct {
	stream string
	topic  string
	known  bool            // the heads seen at the start were reached
	behind map[int32]int64 // partitions that have not reached that head yet
	last   map[wire.ID]uint64
	swept  int // entries left by the last sweep
	stats  HeartbeatStats
}

// HeartbeatStats counts what the tail of one stream read.
type HeartbeatStats struct {
	Records  uint64
	Bad      uint64 // no heartbeat, or one that cannot be read
	Foreign  uint64 // its body names another stream: ignored
	Sessions int    // heard of within the horizon
	Known    bool
}

// DefaultHorizon is how far back the tail begins, and how long a heartbeat is
// remembered. A session whose idle timeout is longer may show idle after a
// restart although a process held it before that.
const DefaultHorizon = 24 * time.Hour

// NewHeartbeats follows the topics of role heartbeats; streams without one have
// nothing to hear and are known at once. horizon 0 is DefaultHorizon.
func NewHeartbeats(conn Conn, streams []Stream, horizon time.Duration, now func() time.Time) *Heartbeats {
	if horizon <= 0 {
		horizon = DefaultHorizon
	}
	h := &Heartbeats{conn: conn, horizon: horizon, now: now, streams: map[string]*pulse{}, topics: map[string]*pulse{}}
	for _, s := range streams {
		p := &pulse{stream: s.Name, known: true, last: map[wire.ID]uint64{}}
		for _, t := range s.Topics {
			if t.Role == wire.RoleHeartbeats {
				p.topic, p.known = t.Topic, false
				h.topics[t.Topic] = p
			}
		}
		h.streams[s.Name] = p
	}
	return h
}

// Last gives the broker time (µs) of the session's newest heartbeat, 0 when none
// was heard. known is false while the tail has not reached the heads it saw at
// its start: then silence means nothing.
func (h *Heartbeats) Last(stream string, id wire.ID) (last uint64, known bool) {
	h.mu.Lock()
	defer h.mu.Unlock()
	p := h.streams[stream]
	if p == nil {
		return 0, false
	}
	return p.last[id], p.known
}

// Stats counts per stream, and says what keeps the tail from reading.
func (h *Heartbeats) Stats() (map[string]HeartbeatStats, error) {
	h.mu.Lock()
	defer h.mu.Unlock()
	out := make(map[string]HeartbeatStats, len(h.streams))
	for name, p := range h.streams {
		s := p.stats
		s.Sessions, s.Known = len(p.last), p.known
		out[name] = s
	}
	return out, h.err
}

// heartbeatRetry is the pause after the tail failed.
const heartbeatRetry = time.Second

// Run reads until ctx ends. Trouble with a broker or a topic is shown by Stats
// and tried again; it harms nothing but the knowledge of liveness.
func (h *Heartbeats) Run(ctx context.Context) {
	if len(h.topics) == 0 {
		return
	}
	for ctx.Err() == nil {
		err := h.tail(ctx)
		if ctx.Err() != nil {
			return
		}
		h.mu.Lock()
		h.err = err
		h.mu.Unlock()
		if sleep(ctx, heartbeatRetry) != nil {
			return
		}
	}
}

func (h *Heartbeats) tail(ctx context.Context) error {
	opts, err := h.conn.Options()
	if err != nil {
		return err
	}
	names := make([]string, 0, len(h.topics))
	for t := range h.topics {
		names = append(names, t)
	}
	from := h.now().Add(-h.horizon)
	cl, err := kgo.NewClient(append(opts,
		kgo.ConsumeTopics(names...),
		kgo.ConsumeStartOffset(kgo.NewOffset().AfterMilli(from.UnixMilli())),
		kgo.ConsumeResetOffset(kgo.NewOffset().AtStart()), // what retention took is over and does not matter here
		kgo.FetchIsolationLevel(kgo.ReadCommitted()),
		kgo.KeepControlRecords(), // so that the position passes markers too
		kgo.FetchMaxBytes(4<<20),
		kgo.MetadataMinAge(250*time.Millisecond),
		kgo.MetadataMaxAge(15*time.Second),
	)...)
	if err != nil {
		return fmt.Errorf("source: heartbeats: %w", err)
	}
	defer cl.Close()
	if err := h.learnHeads(ctx, kadm.NewClient(cl), names); err != nil {
		return err
	}
	for {
		fs := cl.PollRecords(ctx, 10_000)
		if ctx.Err() != nil || fs.IsClientClosed() {
			return ctx.Err()
		}
		h.take(fs)
	}
}

// learnHeads notes, once per topic, what has to be read before silence means
// something. A topic that does not exist has nothing to be read.
func (h *Heartbeats) learnHeads(ctx context.Context, adm *kadm.Client, names []string) error {
	md, err := adm.Metadata(ctx, names...)
	if err != nil {
		return fmt.Errorf("source: heartbeats: %w", err)
	}
	var exist []string
	for _, t := range md.Topics {
		switch {
		case t.Err == nil:
			exist = append(exist, t.Topic)
		case !errors.Is(t.Err, kerr.UnknownTopicOrPartition):
			return fmt.Errorf("source: heartbeats topic %s: %w", t.Topic, t.Err)
		}
	}
	var starts, ends kadm.ListedOffsets
	if len(exist) > 0 {
		if starts, err = adm.ListOffsetsAfterMilli(ctx, h.now().Add(-h.horizon).UnixMilli(), exist...); err != nil {
			return fmt.Errorf("source: heartbeats: %w", err)
		}
		// The last stable offset: an open transaction shows nothing yet.
		if ends, err = adm.ListCommittedOffsets(ctx, exist...); err != nil {
			return fmt.Errorf("source: heartbeats: %w", err)
		}
		if err := errors.Join(starts.Error(), ends.Error()); err != nil {
			return fmt.Errorf("source: heartbeats: %w", err)
		}
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	h.err = nil
	for _, p := range h.topics {
		if p.known {
			continue // a reconnect: what was heard is still heard
		}
		p.behind = map[int32]int64{}
		for part, end := range ends[p.topic] {
			if start := starts[p.topic][part].Offset; start < end.Offset {
				p.behind[part] = end.Offset
			}
		}
		p.known = len(p.behind) == 0
	}
	return nil
}

func (h *Heartbeats) take(fs kgo.Fetches) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.err = nil
	fs.EachError(func(topic string, partition int32, err error) {
		if h.topics[topic] == nil || errors.Is(err, kerr.UnknownTopicOrPartition) {
			return // it does not exist: nothing to hear
		}
		h.err = fmt.Errorf("source: heartbeats %s[%d]: %w", topic, partition, err)
	})
	fs.EachPartition(func(ftp kgo.FetchTopicPartition) {
		p := h.topics[ftp.Topic]
		if p == nil {
			return
		}
		for _, r := range ftp.Records {
			if !r.Attrs.IsControl() {
				p.hear(r)
			}
		}
		if n := len(ftp.Records); n > 0 && len(p.behind) > 0 {
			if end, ok := p.behind[ftp.Partition]; ok && ftp.Records[n-1].Offset+1 >= end {
				delete(p.behind, ftp.Partition)
				p.known = len(p.behind) == 0
			}
		}
		p.sweep(uint64(max(h.now().Add(-h.horizon).UnixMicro(), 0)))
	})
}

func (p *pulse) hear(r *kgo.Record) {
	p.stats.Records++
	beat, err := wire.ReadHeartbeat(&wire.Raw{Key: r.Key, Value: r.Value, Headers: headers(r.Headers)})
	if err != nil {
		p.stats.Bad++
		return
	}
	if string(beat.Stream) != p.stream {
		p.stats.Foreign++
		return
	}
	at := uint64(max(r.Timestamp.UnixMilli(), 0)) * 1000
	for _, id := range beat.Sessions {
		p.last[id] = max(p.last[id], at)
	}
}

// sweep forgets what is older than the horizon, whenever the table has doubled.
func (p *pulse) sweep(oldest uint64) {
	if len(p.last) < 2*max(p.swept, 1024) {
		return
	}
	for id, at := range p.last {
		if at < oldest {
			delete(p.last, id)
		}
	}
	p.swept = len(p.last)
}
