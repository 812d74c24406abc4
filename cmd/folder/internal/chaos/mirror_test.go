package chaos

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/twmb/franz-go/pkg/kgo"

	"sessionfold/cmd/folder/internal/verify"
	"sessionfold/testenv"
	"sessionfold/wire"
)

// incarnation is one life of a topic's partition, from its creation to its
// deletion: what a source is.
type incarnation struct {
	tp         wire.TopicPartition
	generation uint64
}

// mirror holds every record that the brokers ever gave out. It reads a partition
// to its end before anything is taken from it.
type mirror struct {
	k     *testenv.Kafka
	logs  map[incarnation]*mirrored
	alive map[string]uint64 // topic → generation
}

// mirrored is one log: offsets ascend, markers are left out.
type mirrored struct {
	src     *wire.Source
	records []wire.Raw
	next    uint64 // position
	first   bool   // the topic was not deleted before
	expired uint64 // log start that was asked for
	folded  uint64 // the group is known to have committed up to here
	taken   []span // what may have expired before it was folded
}

// span is a range of offsets [from, to).
type span struct{ from, to uint64 }

func newMirror(k *testenv.Kafka) *mirror {
	return &mirror{k: k, logs: map[incarnation]*mirrored{}, alive: map[string]uint64{}}
}

// of gives the log of a source as verify reads it.
func (m *mirror) of(src *wire.Source) verify.Log {
	l := m.logs[incarnation{wire.TopicPartition{Topic: src.Topic, Partition: int32(src.Partition)}, src.Generation}]
	if l == nil {
		return nil
	}
	return l
}

// Identify says that the log begins at its first record.
func (l *mirrored) Identify(context.Context, wire.TopicPartition) (wire.Identity, error) {
	return wire.Identity{Source: l.src, High: l.next}, nil
}

// Scan hands out the records of [from, to).
func (l *mirrored) Scan(_ context.Context, _ wire.TopicPartition, from, to uint64, batch int, put func([]wire.Raw) error) error {
	var out []wire.Raw
	for _, r := range l.records {
		if r.Offset < from || r.Offset >= to {
			continue
		}
		if out = append(out, r); len(out) == batch {
			if err := put(out); err != nil {
				return err
			}
			out = out[:0]
		}
	}
	if len(out) == 0 {
		return nil
	}
	return put(out)
}

// catchUp reads the topics to their ends of now.
func (m *mirror) catchUp(ctx context.Context, stream string, topics ...string) error {
	ds, err := m.k.Admin.ListTopics(ctx, topics...)
	if err != nil {
		return fmt.Errorf("mirror: %w", err)
	}
	ends, err := m.k.Admin.ListEndOffsets(ctx, topics...)
	if err == nil {
		err = ends.Error()
	}
	if err != nil {
		return fmt.Errorf("mirror: ends: %w", err)
	}
	at, left := map[string]map[int32]kgo.Offset{}, map[wire.TopicPartition]uint64{}
	for _, topic := range topics {
		if ds[topic].Err != nil {
			return fmt.Errorf("mirror: topic %s: %w", topic, ds[topic].Err)
		}
		generation := wire.GenerationOf(ds[topic].ID)
		m.alive[topic] = generation
		for _, p := range ds[topic].Partitions {
			tp := wire.TopicPartition{Topic: topic, Partition: p.Partition}
			l := m.log(stream, tp, generation)
			end, ok := ends.Lookup(topic, p.Partition)
			if !ok || uint64(end.Offset) <= l.next {
				continue
			}
			left[tp] = uint64(end.Offset)
			if at[topic] == nil {
				at[topic] = map[int32]kgo.Offset{}
			}
			at[topic][p.Partition] = kgo.NewOffset().At(int64(l.next))
		}
	}
	return m.read(ctx, at, left)
}

func (m *mirror) log(stream string, tp wire.TopicPartition, generation uint64) *mirrored {
	key := incarnation{tp, generation}
	if m.logs[key] == nil {
		first := true
		for other := range m.logs {
			first = first && other.tp != tp
		}
		m.logs[key] = &mirrored{first: first, src: wire.NewSource(stream, tp.Topic, generation, uint32(tp.Partition), wire.RoleOf(stream, tp.Topic), wire.DialectAGDX)}
	}
	return m.logs[key]
}

func (m *mirror) read(ctx context.Context, at map[string]map[int32]kgo.Offset, left map[wire.TopicPartition]uint64) error {
	if len(left) == 0 {
		return nil
	}
	cl, err := kgo.NewClient(kgo.SeedBrokers(m.k.Addrs...), kgo.ConsumePartitions(at), kgo.ConsumeResetOffset(kgo.NoResetOffset()),
		kgo.KeepControlRecords(), kgo.FetchMaxWait(100*time.Millisecond), kgo.MetadataMinAge(100*time.Millisecond))
	if err != nil {
		return fmt.Errorf("mirror: %w", err)
	}
	defer cl.Close()
	for len(left) > 0 {
		fs := cl.PollFetches(ctx)
		if err := errors.Join(ctx.Err(), fs.Err()); err != nil {
			return fmt.Errorf("mirror: %d partitions left, such as %v: %w", len(left), left, err)
		}
		fs.EachRecord(func(r *kgo.Record) {
			tp := wire.TopicPartition{Topic: r.Topic, Partition: r.Partition}
			l := m.logs[incarnation{tp, m.alive[r.Topic]}]
			if uint64(r.Offset) < l.next {
				return
			}
			l.next = uint64(r.Offset) + 1
			if l.next >= left[tp] {
				delete(left, tp)
			}
			if r.Attrs.IsControl() {
				return
			}
			raw := wire.Raw{Offset: uint64(r.Offset), Timestamp: r.Timestamp.UnixMilli(), Key: r.Key, Value: r.Value}
			for _, h := range r.Headers {
				raw.Headers = append(raw.Headers, wire.Header(h))
			}
			l.records = append(l.records, raw)
		})
	}
	return nil
}
