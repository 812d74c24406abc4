package sink

import (
	"context"
	"errors"
	"fmt"
	"sync/atomic"
	"time"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kgo"
	"github.com/twmb/franz-go/pkg/kmsg"

	"sessionfold/wire"
)

// Config of a Producer.
type Config struct {
	Opts     []kgo.Opt // how to reach the brokers: source.Conn.Options
	Group    string
	Instance string // with the group it makes the transactional id, which one process at a time may have

	Topics *Topics // of changelogs and changes

	// TransactionTimeout is after how long the broker gives up on a silent
	// producer; until then its transaction stalls every reader. Default 10 s.
	TransactionTimeout time.Duration

	// Quiet says whether the offsets [from, to) of a partition hold no committed record.
	Quiet func(ctx context.Context, tp wire.TopicPartition, from, to int64) (bool, error)
}

// Producer commits steps, one at a time. It is not safe for use by two
// goroutines at once, but for Close.
type Producer struct {
	cfg      Config
	cl       *kgo.Client // nil: none; only the goroutine that commits looks at it
	open     atomic.Pointer[kgo.Client]
	seen     map[string]bool // changelog topics that a committed transaction wrote to
	records  []kgo.Record    // memory for the next transaction's
	implicit bool            // the broker adds the group to the transaction by itself (KIP-890, part 2)
}

// New makes a producer without a connection: Renew connects it.
func New(cfg Config) *Producer {
	if cfg.TransactionTimeout <= 0 {
		cfg.TransactionTimeout = 10 * time.Second
	}
	return &Producer{cfg: cfg}
}

// TransactionalID is the id that fences an older process of the same name.
func (p *Producer) TransactionalID() string { return TransactionalID(p.cfg.Group, p.cfg.Instance) }

// TransactionalID is that of an instance of a group.
func TransactionalID(group, instance string) string { return group + "-" + instance }

// Renew closes the client, if there is one, and makes another. Its producer id
// is asked for at once: that ends a transaction which a predecessor of the same
// name left open, and which a restore would otherwise wait for.
func (p *Producer) Renew(ctx context.Context) error {
	p.Close()
	p.cl = nil
	delivery := max(p.cfg.TransactionTimeout/2, time.Second)
	opts := append(append([]kgo.Opt(nil), p.cfg.Opts...),
		kgo.TransactionalID(p.TransactionalID()),
		kgo.TransactionTimeout(p.cfg.TransactionTimeout),
		kgo.RecordPartitioner(kgo.ManualPartitioner()),
		kgo.ProducerLinger(0),
		kgo.ProducerBatchMaxBytes(MaxMessageBytes),
		kgo.MaxBufferedRecords(100_000),
		kgo.RecordDeliveryTimeout(delivery),
		kgo.RetryTimeout(p.cfg.TransactionTimeout),
		// A broker that waits for one that is frozen, as its replica or as the
		// transaction's coordinator, is not waited for longer than the transaction lasts.
		kgo.ProduceRequestTimeout(delivery),
		kgo.MetadataMinAge(250*time.Millisecond), // a retry after a moved leader waits for metadata
	)
	cl, err := kgo.NewClient(opts...)
	if err != nil {
		return fmt.Errorf("sink: %w", err)
	}
	if _, _, err := cl.ProducerID(ctx); err != nil {
		cl.Close()
		return fmt.Errorf("sink: producer id of %s: %w", p.TransactionalID(), err)
	}
	implicit, err := addsGroups(ctx, cl)
	if err != nil {
		cl.Close()
		return fmt.Errorf("sink: versions of the broker: %w", err)
	}
	p.cl, p.implicit, p.seen = cl, implicit, map[string]bool{}
	p.open.Store(cl)
	return nil
}

// Close ends the client; an open transaction is left to its timeout or to the
// next producer of the same name. A commit that is going on fails.
func (p *Producer) Close() {
	if cl := p.open.Swap(nil); cl != nil {
		cl.Close()
	}
}

// meet makes sure that the client knows a changelog partition. It looks a topic
// up by itself when it is first written to, which is why only topics that were
// written to are asked about; later it believes for minutes that the topic has
// as many partitions as it had then.
func (p *Producer) meet(ctx context.Context, topic string, partition int32) {
	if !p.seen[topic] {
		return
	}
	for range 40 {
		if leader, _, _ := p.cl.PartitionLeader(topic, partition); leader >= 0 || ctx.Err() != nil {
			return
		}
		p.cl.ForceMetadataRefresh()
		time.Sleep(50 * time.Millisecond)
	}
}

// addsGroups says whether TxnOffsetCommit adds the group by itself.
func addsGroups(ctx context.Context, cl *kgo.Client) (bool, error) {
	req := kmsg.NewPtrApiVersionsRequest()
	req.ClientSoftwareName, req.ClientSoftwareVersion = "sessionfold", "1"
	resp, err := req.RequestWith(ctx, cl)
	if err == nil {
		err = kerr.ErrorForCode(resp.ErrorCode)
	}
	if err != nil {
		return false, err
	}
	commit, feature := false, false
	for _, k := range resp.ApiKeys {
		commit = commit || k.ApiKey == int16(kmsg.TxnOffsetCommit) && k.MaxVersion >= 5
	}
	for _, f := range resp.FinalizedFeatures {
		feature = feature || f.Name == "transaction.version" && f.MaxVersionLevel >= 2
	}
	return commit && feature, nil
}

var errNoProducer = errors.New("no producer: its renewal has failed so far")
