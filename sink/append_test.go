package sink

import (
	"context"
	"net"
	"strconv"
	"sync/atomic"
	"testing"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kgo"
	"github.com/twmb/franz-go/pkg/kmsg"

	"sessionfold/wire"
)

// A topic that was just created is not known to every broker at once: what is
// written meanwhile waits for it.
func TestAppendWaitsForANewTopic(t *testing.T) {
	c, adm := cluster(t)
	ctx := context.Background()
	if _, err := adm.CreateTopic(ctx, 1, 1, nil, "new"); err != nil {
		t.Fatal(err)
	}
	var unknown atomic.Int32
	unknown.Store(8) // more often than the client asks by itself
	c.ControlKey(int16(kmsg.Metadata), func(req kmsg.Request) (kmsg.Response, error, bool) {
		c.KeepControl()
		r := req.(*kmsg.MetadataRequest)
		if len(r.Topics) != 1 || unknown.Add(-1) < 0 {
			return nil, nil, false
		}
		resp := r.ResponseKind().(*kmsg.MetadataResponse)
		host, port, _ := net.SplitHostPort(c.ListenAddrs()[0])
		n, _ := strconv.Atoi(port)
		b := kmsg.NewMetadataResponseBroker()
		b.NodeID, b.Host, b.Port = 0, host, int32(n)
		resp.Brokers = append(resp.Brokers, b)
		to := kmsg.NewMetadataResponseTopic()
		to.Topic, to.TopicID, to.ErrorCode = r.Topics[0].Topic, r.Topics[0].TopicID, kerr.UnknownTopicOrPartition.Code
		resp.Topics = append(resp.Topics, to)
		return resp, nil, true
	})
	targets, err := NewTargets([]kgo.Opt{kgo.SeedBrokers(c.ListenAddrs()...)})
	if err != nil {
		t.Fatal(err)
	}
	defer targets.Close()
	a, err := targets.NewAppender(Target{Topic: "new", Partitions: 1, MaxBytes: 1 << 20})
	if err != nil {
		t.Fatal(err)
	}
	defer a.Close()
	var failed error
	a.Append(ctx, "new", 0, &wire.Raw{Value: []byte("x")}, func(err error) { failed = err })
	if err := a.Flush(ctx); err != nil || failed != nil {
		t.Errorf("%v, %v", err, failed)
	}
	if unknown.Load() >= 0 {
		t.Errorf("the topic was asked for less often than it was unknown: %d are left", unknown.Load())
	}
}
