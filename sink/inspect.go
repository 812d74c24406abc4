package sink

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kmsg"
)

// Inspect holds topics against what is wanted of them and finds everything that
// is wrong, not only the first; it changes nothing. It gives the partitions of
// those that exist. An error means that the brokers could not be asked.
func (t *Topics) Inspect(ctx context.Context, wants []Want) (fs []Finding, partitions map[string]int32, err error) {
	partitions = map[string]int32{}
	for i := range wants {
		w := &wants[i]
		md, err := t.metadata(ctx, w.Topic)
		on := "topic " + w.Topic
		switch {
		case errors.Is(err, kerr.UnknownTopicOrPartition):
			f, err := t.missing(ctx, w)
			if err != nil {
				return nil, nil, err
			}
			fs = append(fs, f)
			continue
		case denied(err):
			fs = append(fs, Finding{Wrong, on, "is not there for this user", "grant " + w.access() + " on it"})
			continue
		case err != nil:
			return nil, nil, fmt.Errorf("sink: metadata of topic %s: %w", w.Topic, err)
		}
		n := int32(len(md.Partitions))
		partitions[w.Topic] = n
		if n < w.Partitions {
			f, err := t.few(ctx, w, n)
			if err != nil {
				return nil, nil, err
			}
			fs = append(fs, f)
		}
		fs = append(fs, w.grants(md.AuthorizedOperations)...)
		have, err := t.settings(ctx, w.Topic)
		switch {
		case denied(err):
			fs = append(fs, Finding{Note, on, "does not show its settings to this user, so they are not checked", "grant DESCRIBE_CONFIGS on it, or run this check as another user"})
		case err != nil:
			return nil, nil, fmt.Errorf("sink: settings of topic %s: %w", w.Topic, err)
		default:
			fs = append(fs, w.faults(have)...)
		}
		fs = append(fs, w.replication(md, have)...)
	}
	return fs, partitions, nil
}

// missing says what becomes of a topic that is not there. Whether it could be
// made, the broker is asked.
func (t *Topics) missing(ctx context.Context, w *Want) (Finding, error) {
	on := "topic " + w.Topic
	if !w.Create {
		return Finding{Wrong, on, "is missing", fmt.Sprintf("create it with %s: `folder topics create` does", w)}, nil
	}
	rs, err := t.adm.ValidateCreateTopics(ctx, w.Partitions, t.cfg.ReplicationFactor, w.settings(), w.Topic)
	if err == nil {
		err = rs.Error()
	}
	switch {
	case err == nil:
		return Finding{Note, on, "is missing; a worker creates it", ""}, nil
	case denied(err):
		return Finding{Wrong, on, "is missing and this user may not create it", fmt.Sprintf("grant CREATE on it, or create it as another user with %s", w)}, nil
	case isAnswer(err):
		return Finding{Wrong, on, "is missing and cannot be created: " + err.Error(), "look at output.replication_factor and the policies of the cluster"}, nil
	}
	return Finding{}, fmt.Errorf("sink: try to create topic %s: %w", w.Topic, err)
}

// few is a topic with too few partitions.
func (t *Topics) few(ctx context.Context, w *Want, have int32) (Finding, error) {
	on, what := "topic "+w.Topic, fmt.Sprintf("has %d partitions and needs %d", have, w.Partitions)
	if !w.Grow || !w.Create {
		return Finding{Wrong, on, what, "add partitions to it"}, nil
	}
	rs, err := t.adm.ValidateUpdatePartitions(ctx, int(w.Partitions), w.Topic)
	if err == nil {
		err = rs.Error()
	}
	switch {
	case err == nil:
		return Finding{Note, on, what + "; a worker adds them", ""}, nil
	case denied(err):
		return Finding{Wrong, on, what + ", and this user may not add them", "grant ALTER on it, or add them as another user"}, nil
	case isAnswer(err):
		return Finding{Wrong, on, what + ", and they cannot be added: " + err.Error(), ""}, nil
	}
	return Finding{}, fmt.Errorf("sink: try to add partitions to topic %s: %w", w.Topic, err)
}

// isAnswer tells what a broker says of the request from a broker that does not
// answer.
func isAnswer(err error) bool {
	var k *kerr.Error
	return errors.As(err, &k)
}

func (w *Want) access() string {
	var ops []string
	if w.Read {
		ops = append(ops, "READ")
	}
	if w.Write {
		ops = append(ops, "WRITE")
	}
	return strings.Join(ops, " and ")
}

// grants holds the operations that the broker says this user may do, one bit
// each, against those that are needed.
func (w *Want) grants(ops int32) (fs []Finding) {
	if ops == -1<<31 { // the broker does not tell
		return nil
	}
	for _, need := range []struct {
		wanted bool
		op     kmsg.ACLOperation
	}{{w.Read, kmsg.ACLOperationRead}, {w.Write, kmsg.ACLOperationWrite}} {
		if need.wanted && ops&(1<<need.op) == 0 {
			op := strings.ToUpper(need.op.String())
			fs = append(fs, Finding{Wrong, "topic " + w.Topic, "may not be used for " + op + " by this user", "grant " + op + " on it"})
		}
	}
	return fs
}

// replication looks for topics that a broker's end takes along.
func (w *Want) replication(md *kmsg.MetadataResponseTopic, have map[string]string) (fs []Finding) {
	if len(md.Partitions) == 0 {
		return nil
	}
	least := slices.MinFunc(md.Partitions, func(a, b kmsg.MetadataResponseTopicPartition) int {
		return len(a.Replicas) - len(b.Replicas)
	})
	n, on := len(least.Replicas), "topic "+w.Topic
	insync, err := strconv.Atoi(have["min.insync.replicas"])
	switch {
	case n < 2:
		fs = append(fs, Finding{Warning, on, "has a single replica", "3 replicas survive the loss of a broker"})
	case err != nil:
	case insync > n:
		fs = append(fs, Finding{Wrong, on, fmt.Sprintf("has min.insync.replicas=%d and %d replicas: nothing can be written to it", insync, n), "alter the topic"})
	case insync < 2:
		fs = append(fs, Finding{Warning, on, fmt.Sprintf("has %d replicas and min.insync.replicas=%d: what one broker has taken is lost with it", n, insync), "set min.insync.replicas=2"})
	}
	return fs
}
