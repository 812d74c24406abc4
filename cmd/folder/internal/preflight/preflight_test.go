package preflight

import (
	"context"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kfake"
	"github.com/twmb/franz-go/pkg/kgo"
	"github.com/twmb/franz-go/pkg/kmsg"

	"sessionfold/cmd/folder/internal/config"
	"sessionfold/sink"
	"sessionfold/testenv"
	"sessionfold/testenv/broker"
	"sessionfold/wire"
)

func load(t *testing.T, brokers []string, more ...string) *config.Config {
	t.Helper()
	file := filepath.Join(t.TempDir(), "folder.yaml")
	text := fmt.Sprintf("kafka: {brokers: [%s], group: g, instance: i%s}\nstreams: [{name: s}]\nstore: {dir: d}\n", strings.Join(brokers, ","), strings.Join(more, ""))
	if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	l, err := config.Load(config.Input{File: file})
	if err != nil {
		t.Fatal(err)
	}
	return &l.Config
}

// wrong gives what a check finds that is more than a note, one line each.
func wrong(t *testing.T, c *config.Config) (lines []string) {
	t.Helper()
	p, err := New(c, slog.New(slog.DiscardHandler))
	if err != nil {
		t.Fatal(err)
	}
	defer p.Close()
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	fs, err := p.Check(ctx)
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range fs {
		if f.Level != sink.Note && f.What != "has a single replica" { // kfake has one broker here
			lines = append(lines, fmt.Sprintf("%s %s %s | %s", f.Level, f.On, f.What, f.Hint))
		}
		if f.Level == sink.Wrong && f.Hint == "" {
			t.Errorf("no hint: %+v", f)
		}
	}
	return lines
}

func expect(t *testing.T, got []string, want ...string) {
	t.Helper()
	for _, w := range want {
		i := slices.IndexFunc(got, func(g string) bool {
			for part := range strings.SplitSeq(w, " … ") {
				at := strings.Index(g, part)
				if at < 0 {
					return false
				}
				g = g[at+len(part):]
			}
			return true
		})
		if i < 0 {
			t.Errorf("nothing says %q", w)
			continue
		}
		got = slices.Delete(slices.Clone(got), i, i+1)
	}
	if len(got) > 0 {
		t.Errorf("more than expected:\n%s", strings.Join(got, "\n"))
	}
}

// Every setting that can be wrong, all at once.
func TestEveryWrongSettingIsFound(t *testing.T) {
	k := testenv.Fake(t, broker.Options{})
	large := fmt.Sprint(sink.MaxMessageBytes)
	for _, tr := range wire.TopicsOf("s") {
		switch tr.Role {
		case wire.RoleMemory: // missing
		case wire.RoleLane:
			k.Create(t, tr.Topic, 3, "message.timestamp.type", "LogAppendTime")
			k.Create(t, sink.ChangelogTopic("g", tr.Topic), 2, "cleanup.policy", "compact", "max.message.bytes", "1000000")
		case wire.RoleControl:
			k.Create(t, tr.Topic, 1, "message.timestamp.type", "CreateTime", "cleanup.policy", "compact")
		default:
			k.Create(t, tr.Topic, 1, "message.timestamp.type", "LogAppendTime")
		}
	}
	k.Create(t, "g-changes", 1, "cleanup.policy", "compact", "max.message.bytes", large)
	expect(t, wrong(t, load(t, k.Addrs)),
		"wrong topic s.agent.memory is missing | create it with 1 partitions",
		"warning topic s.agent.control has message.timestamp.type=CreateTime",
		"wrong topic s.agent.control has cleanup.policy=compact and needs delete | compaction",
		"wrong topic g-changes has cleanup.policy=compact and needs delete",
		"wrong topic g-"+laneTopic()+"-changelog has max.message.bytes=1000000 and needs at least "+large,
	)
	// A program that may not create topics needs them all, and as large.
	c := load(t, k.Addrs)
	c.Output.CreateTopics = false
	got := strings.Join(wrong(t, c), "\n")
	for _, want := range []string{
		"wrong topic g-" + laneTopic() + "-changelog has 2 partitions and needs 3 | add partitions",
		"wrong topic g-s.agent.control-changelog is missing | create it with 1 partitions, cleanup.policy=compact and max.message.bytes=" + large,
	} {
		if !strings.Contains(got, want) {
			t.Errorf("nothing says %q:\n%s", want, got)
		}
	}
}

func laneTopic() string {
	for _, tr := range wire.TopicsOf("s") {
		if tr.Role == wire.RoleLane {
			return tr.Topic
		}
	}
	return ""
}

// What create makes, check finds right, although a broker that is asked does not
// know yet of a topic that was made.
func TestWhatIsCreatedIsRight(t *testing.T) {
	k := testenv.Fake(t, broker.Options{})
	late := k.Fake.Fault(kfake.Fault{Keys: []kmsg.Key{kmsg.Metadata}, Topic: "s.agent.memory", Err: kerr.UnknownTopicOrPartition})
	c := load(t, k.Addrs)
	p, err := New(c, slog.New(slog.DiscardHandler))
	if err != nil {
		t.Fatal(err)
	}
	defer p.Close()
	for i, want := range []int{2*len(wire.TopicsOf("s")) + 1 - unfolded(), 0} {
		made := 0
		if err := p.Create(t.Context(), 2, func(string) { made++ }); err != nil {
			t.Fatal(err)
		}
		if late.Hits() != 1 {
			t.Fatal("nobody asked for the topic that is known late")
		}
		if made != want {
			t.Errorf("call %d makes %d topics, want %d", i, made, want)
		}
	}
	c.Output.CreateTopics = false
	expect(t, wrong(t, c))
}

func unfolded() (n int) {
	for _, tr := range wire.TopicsOf("s") {
		if !tr.Role.Folded() {
			n++
		}
	}
	return n
}

// Every right that is missing, of a user with none and of one with all.
func TestEveryMissingRightIsFound(t *testing.T) {
	all := []kfake.ACL{
		{Resource: kmsg.ACLResourceTypeTopic, Name: "s.agent.", Pattern: kmsg.ACLResourcePatternTypePrefixed, Operation: kmsg.ACLOperationRead, Allow: true},
		{Resource: kmsg.ACLResourceTypeTopic, Name: "g-", Pattern: kmsg.ACLResourcePatternTypePrefixed, Operation: kmsg.ACLOperationRead, Allow: true},
		{Resource: kmsg.ACLResourceTypeTopic, Name: "g-", Pattern: kmsg.ACLResourcePatternTypePrefixed, Operation: kmsg.ACLOperationWrite, Allow: true},
		{Resource: kmsg.ACLResourceTypeGroup, Name: "g", Pattern: kmsg.ACLResourcePatternTypeLiteral, Operation: kmsg.ACLOperationRead, Allow: true},
		{Resource: kmsg.ACLResourceTypeTransactionalId, Name: "g-", Pattern: kmsg.ACLResourcePatternTypePrefixed, Operation: kmsg.ACLOperationWrite, Allow: true},
	}
	reader := []kfake.ACL{all[0], all[1], all[3]}
	b, err := broker.Start(broker.Options{Extra: []kfake.Opt{
		kfake.EnableSASL(), kfake.EnableACLs(), kfake.Superuser("PLAIN", "root", "p"),
		kfake.User("PLAIN", "none", "p"), kfake.User("PLAIN", "reader", "p", reader...), kfake.User("PLAIN", "worker", "p", all...),
	}})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(b.Close)
	as := func(user string) *config.Config {
		return load(t, b.Addrs(), ", sasl_mechanism: PLAIN, sasl_user: "+user+", sasl_password: p")
	}
	p, err := New(as("root"), slog.New(slog.DiscardHandler))
	if err != nil {
		t.Fatal(err)
	}
	defer p.Close()
	if err := p.Create(t.Context(), 1, func(string) {}); err != nil {
		t.Fatal(err)
	}
	expect(t, wrong(t, as("worker")))

	var want []string
	for _, tr := range wire.TopicsOf("s") {
		want = append(want, "wrong topic "+tr.Topic+" is not there for this user | grant READ on it")
	}
	expect(t, wrong(t, as("none")), append(want,
		"wrong topic g-changes is not there for this user | grant READ and WRITE on it",
		"wrong group g is not open to this user | grant READ on the group",
		"wrong transactional id g-i is not open to this user | grant WRITE on it",
	)...)

	want = []string{"wrong topic g-changes may not be used for WRITE by this user | grant WRITE on it", "wrong transactional id g-i is not open"}
	for _, tr := range wire.TopicsOf("s") {
		if tr.Role.Folded() {
			want = append(want, "wrong topic g-"+tr.Topic+"-changelog may not be used for WRITE by this user")
		}
	}
	expect(t, wrong(t, as("reader")), want...)
}

// The check does not disturb a producer that has the transactional id.
func TestTheCheckDisturbsNobody(t *testing.T) {
	k := testenv.Fake(t, broker.Options{})
	k.Create(t, "t", 1)
	cl := k.Client(t, kgo.TransactionalID("g-i"))
	if err := cl.BeginTransaction(); err != nil {
		t.Fatal(err)
	}
	put := func() error {
		return cl.ProduceSync(t.Context(), &kgo.Record{Topic: "t", Value: []byte("x")}).FirstErr()
	}
	if err := put(); err != nil {
		t.Fatal(err)
	}
	wrong(t, load(t, k.Addrs))
	if err := put(); err != nil {
		t.Fatalf("the producer was fenced: %v", err)
	}
	if err := cl.EndTransaction(t.Context(), kgo.TryCommit); err != nil {
		t.Fatalf("the transaction was ended: %v", err)
	}
}
