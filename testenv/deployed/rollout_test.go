package deployed

import (
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"maps"
	"os"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"sessionfold/testenv"
	"sessionfold/testenv/kafka"
	"sessionfold/wire"
)

const (
	group    = "sessionfold"            // of the manifests
	token    = "a token of some reader" // its digest is in the Secret
	password = "what the worker logs in with"
)

// cluster is a broker that asks for TLS, a login and rights, with two users: the
// manifests' own, with exactly the rights of docs/security.md, and one who may do
// everything. The streams' topics are there, made as docs/deployment.md tells.
type cluster struct {
	*testenv.Kafka
	node   *kafka.Secure
	topics []string // that are folded
}

func newCluster(t *testing.T, m *manifest) (*cluster, *surroundings) {
	t.Helper()
	if testing.Short() {
		t.Skip("a JVM")
	}
	kafka.Need(t)
	ctx, cancel := context.WithTimeout(t.Context(), 5*time.Minute) // includes the download
	defer cancel()
	began := time.Now()
	node, err := kafka.Secured(ctx, t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(node.Close)
	c := &cluster{Kafka: testenv.At(t, node.Addr), node: node, topics: []string{"agents.reviewer.inbox", "deepstrike.events", "everruns.events"}}
	grants, err := kafka.Documented("agents", group)
	if err != nil {
		t.Fatal(err)
	}
	for _, r := range wire.TopicsOf("agents") {
		if r.Role.Folded() {
			c.topics = append(c.topics, r.Topic)
		}
	}
	// One row is for each inbox, and for each topic of another dialect.
	each := slices.IndexFunc(grants, func(g kafka.Grant) bool { return g.Name == "agents.reviewer.inbox" })
	for _, topic := range []string{"deepstrike.events", "everruns.events"} {
		g := grants[each]
		g.Name = topic
		grants = append(grants, g)
	}
	if err := errors.Join(node.AddUser(ctx, "sessionfold", password), node.Allow(ctx, "sessionfold", grants...), node.AddUser(ctx, kafka.Admin, "admin-secret")); err != nil {
		t.Fatal(err)
	}
	ca, err := os.ReadFile(node.CA)
	if err != nil {
		t.Fatal(err)
	}
	content := map[string]string{
		"tokens": fmt.Sprintf("%x session:read stream:*\n", sha256.Sum256([]byte(token))), "ca.crt": string(ca), "password": password + "\n", "token": token + "\n",
	}
	brokers := map[string]string{"kafka-bootstrap.kafka.svc:9093": node.SASL}
	of := &surroundings{secrets: documented(t, content), brokers: brokers}

	content["password"] = "admin-secret"
	admin := newPod(t, m, "administrator", &surroundings{secrets: documented(t, content), brokers: brokers})
	out, err := admin.execWith([]string{"FOLDER_KAFKA_SASL_USER=" + kafka.Admin}, "topics", "create", "--source-partitions=3", m.folder().Args[1])
	if err != nil {
		t.Fatal(err)
	}
	n := strings.Count(out, "created ")
	if want := 2*len(c.topics) + 2; n != want { // each with a changelog; heartbeats, changes
		t.Fatalf("%d topics were created, want %d:\n%s", n, want, out)
	}
	t.Logf("a broker with %d topics after %s", n, time.Since(began).Round(100*time.Millisecond))
	return c, of
}

// shared waits until the group rests and its members are these, with all
// partitions between them and none without.
func (c *cluster) shared(t *testing.T, names ...string) (out map[string][]wire.TopicPartition) {
	t.Helper()
	testenv.Eventually(t, soon, func() (err error) {
		if out, err = c.Members(t.Context(), group); err != nil {
			return err
		}
		n := 0
		for name, tps := range out {
			if n += len(tps); len(tps) == 0 {
				return fmt.Errorf("%s has no partition", name)
			}
		}
		if got := slices.Sorted(maps.Keys(out)); !slices.Equal(got, names) || n != 3*len(c.topics) {
			return fmt.Errorf("%v share %d of %d partitions, want %v to share all", got, n, 3*len(c.topics), names)
		}
		return nil
	})
	return out
}

// rebalanced is how many partitions a pod was given, and how many were taken from
// it, since it started.
func (p *pod) rebalanced() [2]float64 {
	p.Helper()
	s, err := p.worker("").Scrape(p.Context())
	if err != nil {
		p.Fatal(err)
	}
	const name = "rebalanced_partitions_total"
	return [2]float64{s.Sum(name, `event="assigned"`), s.Sum(name, `event="revoked"`) + s.Sum(name, `event="lost"`)}
}

// The manifests' own pods under load: a rolling restart moves no partition, two
// workers take over from three and three from two, and in the end everything was
// folded, once.
func TestKafkaRollout(t *testing.T) {
	m := render(t, "three")
	c, of := newCluster(t, m)
	l := startLoad(t, c.Addrs[0], 7)
	s := &set{T: t, m: m, of: of}
	began := time.Now()
	step := func(what string) { t.Logf("%5.1f s  %s", time.Since(began).Seconds(), what) }

	s.scale(m.Set.Spec.Replicas)
	before := c.shared(t, s.names()...)
	// What docs/deployment.md tells to look at.
	for _, args := range [][]string{{"config", "validate", "--online"}, {"topics", "check"}} {
		if out, err := s.pods[0].exec(append(args, m.folder().Args[1])...); err != nil {
			t.Errorf("%v\n%s", err, out)
		}
	}
	step("three workers share all partitions")

	moved := map[string][2]float64{}
	for _, p := range s.pods {
		moved[p.name] = p.rebalanced()
	}
	s.roll(func(p *pod) {
		if now := c.shared(t, s.names()...); !reflect.DeepEqual(now, before) {
			t.Fatalf("the restart of %s moved partitions: %v, they were %v", p.name, now, before)
		}
		moved[p.name] = [2]float64{float64(len(before[p.name])), 0} // its own, once
		for _, p := range s.pods {
			if got := p.rebalanced(); got != moved[p.name] {
				t.Errorf("%s was given %v partitions and lost %v so far, want %v", p.name, got[0], got[1], moved[p.name])
			}
		}
		step(p.name + " is restarted and available")
	})

	last := s.pods[2]
	if out, err := last.exec("drain", m.folder().Args[1]); err != nil || out != last.name+" has left group "+group+"\n" {
		t.Fatalf("folder drain: %v\n%s", err, out)
	}
	if err := last.ask(m.folder().ReadinessProbe); err == nil {
		t.Error("a pod that is drained is ready")
	}
	s.scale(2)
	c.shared(t, s.names()...)
	step("two workers share all partitions")
	s.scale(3)
	after := c.shared(t, s.names()...)
	step("three again")

	if err := l.stop(); err != nil {
		t.Fatal(err)
	}
	testenv.Eventually(t, soon, func() error { return c.Folded(t.Context(), group, c.topics...) })
	s.verified(c, l, after)
	step("verified")
	s.whole(c, l)
	step("nothing lost, nothing twice")
}
