package e2e

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"sessionfold/testenv"
	"sessionfold/testenv/agdxlog"
	"sessionfold/testenv/expect"
	"sessionfold/testenv/folder"
	"sessionfold/testenv/proc"
	"sessionfold/wire"
)

func TestMain(m *testing.M) {
	code := m.Run()
	testenv.StopCluster()
	proc.Clean()
	os.Exit(code)
}

// binary is the program; with FOLDER_E2E_RACE it carries the race detector.
func binary(t *testing.T) string {
	t.Helper()
	bin, err := folder.Build(os.Getenv("FOLDER_E2E_RACE") != "")
	if err != nil {
		t.Fatal(err)
	}
	return bin
}

// rig is a broker, a stream with all its topics, and a worker that is not
// started yet.
type rig struct {
	*testing.T
	kafka  *testenv.Kafka
	stream string
	writer *testenv.Writer
	worker *folder.Worker
	want   *expect.Stream
	bin    string
}

// partitions of the topics of every rig; other roles have one.
var partitions = map[wire.Role]int32{wire.RoleLane: 4, wire.RoleChunks: 2, wire.RoleMemory: 2}

func newRig(t *testing.T) *rig {
	t.Helper()
	return newRigOn(t, testenv.StartProcess(t))
}

// newRigOn is newRig on brokers that are there.
func newRigOn(t *testing.T, k *testenv.Kafka) *rig {
	t.Helper()
	r := &rig{T: t, kafka: k, stream: testenv.Name(t), want: expect.New(), bin: binary(t)}
	inbox := r.stream + ".reviewer.inbox"
	r.writer = r.kafka.NewWriter(t, r.stream, partitions, inbox)
	r.cleanTopics()
	r.worker = r.another("e2e")
	return r
}

// cleanTopics removes what a worker of the rig writes from real brokers.
func (r *rig) cleanTopics() {
	r.Cleanup(func() {
		if r.kafka.Real {
			topics := []string{r.changesTopic()}
			for topic := range r.writer.Topics() {
				topics = append(topics, r.stream+"-"+topic+"-changelog")
			}
			r.kafka.Delete(r, topics...)
		}
	})
}

// another plans one more worker of the same group, with a store of its own.
func (r *rig) another(instance string) *folder.Worker {
	r.Helper()
	return r.plan(folder.Options{Instance: instance, Inboxes: []string{r.stream + ".reviewer.inbox"}})
}

// plan is another with what is particular about it.
func (r *rig) plan(o folder.Options) *folder.Worker {
	r.Helper()
	o.Bin, o.Brokers, o.Group, o.Stream, o.Dir = r.bin, r.kafka.Addrs, r.stream, r.stream, r.TempDir()
	o.Extra = []string{"log: {level: warn, format: text}"}
	w, err := folder.New(o)
	if err != nil {
		r.Fatal(err)
	}
	r.Cleanup(func() {
		w.Kill()
		if r.Failed() {
			r.Logf("the last words of worker %s:\n%s", o.Instance, w.Log())
		}
	})
	return w
}

func (r *rig) changesTopic() string { return r.stream + "-changes" }

// log is a fresh log of the stream, with its inbox.
func (r *rig) log() *agdxlog.Log {
	l := agdxlog.New(r.stream)
	l.Inbox(r.stream + ".reviewer.inbox")
	return l
}

// write produces records and counts them.
func (r *rig) write(rs ...agdxlog.Record) {
	r.Helper()
	r.want.Add(rs...)
	r.writer.Put(rs...)
	r.writer.Flush()
}

func (r *rig) start() {
	r.Helper()
	if err := r.worker.Start(); err != nil {
		r.Fatal(err)
	}
}

func (r *rig) stop() {
	r.Helper()
	if err := r.worker.Stop(); err != nil {
		r.Fatal(err)
	}
}

// sessions walks the list.
func (r *rig) sessions(ctx context.Context) (map[wire.ID]wire.SessionInfo, error) {
	return r.worker.Sessions(ctx, r.stream)
}

// events reads a whole timeline.
func (r *rig) events(ctx context.Context, id wire.ID) ([]wire.SessionEvent, error) {
	var out []wire.SessionEvent
	for cursor := ""; ; {
		var p wire.SessionEventsPage
		if err := r.worker.JSON(ctx, folder.Page("/sessions/"+r.stream+"/"+id.String()+"/events", cursor), &p); err != nil {
			return nil, err
		}
		out = append(out, p.Items...)
		if p.Cursor == "" {
			return out, nil
		}
		cursor = p.Cursor
	}
}

// await waits until the list shows everything that was written and no timeline
// is being rebuilt.
func (r *rig) await(within time.Duration) {
	r.Helper()
	ctx, cancel := context.WithTimeout(r.Context(), within+10*time.Second)
	defer cancel()
	testenv.Eventually(r, within, func() error {
		if err := r.worker.Ended(); err != nil {
			r.Fatal(err)
		}
		got, err := r.sessions(ctx)
		if err != nil {
			return err
		}
		if err := whole(got); err != nil {
			return err
		}
		return r.want.Check(got)
	})
}

// awaitTimelines waits until no timeline is being rebuilt: a worker that was
// killed may come back with less than its changelog has, and fills it behind.
func (r *rig) awaitTimelines(within time.Duration) {
	r.Helper()
	testenv.Eventually(r, within, func() error {
		got, err := r.sessions(r.Context())
		if err != nil {
			return err
		}
		return whole(got)
	})
}

// whole says which timeline is not.
func whole(got map[wire.ID]wire.SessionInfo) error {
	for id, s := range got {
		if s.Flags.Rebuilding {
			return fmt.Errorf("session %s is being rebuilt", id)
		}
	}
	return nil
}

// cli runs a command of the program.
func (r *rig) cli(args ...string) (string, error) { return r.cliEnv(nil, args...) }

// cliEnv is cli with further variables.
func (r *rig) cliEnv(env []string, args ...string) (string, error) {
	cmd := exec.CommandContext(r.Context(), r.worker.Bin, args...)
	cmd.Env = append(os.Environ(), env...)
	out, err := cmd.CombinedOutput()
	if err != nil {
		return string(out), fmt.Errorf("folder %q: %w\n%s", args, err, out)
	}
	return string(out), nil
}

// sameAsReplay exports the topics and holds the running worker against an
// offline replay of the export, by digest.
func (r *rig) sameAsReplay() {
	r.Helper()
	file := filepath.Join(r.TempDir(), "log.ndjson")
	which := []string{"--kafka.brokers", strings.Join(r.kafka.Addrs, ","), "--stream", r.stream}
	if c := r.worker.Config(); c != "" {
		which = []string{"--config", c, "--stream", r.stream}
	}
	if _, err := r.cli(append([]string{"export", "--output", file}, which...)...); err != nil {
		r.Fatal(err)
	}
	if r.worker.Config() == "" {
		which = which[2:]
	}
	out, err := r.cli(append([]string{"replay", "--compare", r.worker.Reads, file}, which...)...)
	if err != nil {
		r.Fatal(err)
	}
	r.Log(out)
}

// changesAreWhole holds the changes topic against the topics' ends: every offset
// of every source is covered once.
func (r *rig) changesAreWhole() {
	r.Helper()
	if err := r.checkChanges(); err != nil {
		r.Fatal(err)
	}
}

func (r *rig) checkChanges() error {
	var topics []string
	for topic := range r.topics() {
		if wire.RoleOf(r.stream, topic) != wire.RoleHeartbeats {
			topics = append(topics, topic)
		}
	}
	return r.kafka.Covered(r, r.changesTopic(), topics...)
}

// seqs checks the change rows that are there so far.
func (r *rig) seqs() error {
	_, err := testenv.CheckChanges(r.kafka.Changes(r, r.changesTopic()))
	return err
}

// topics of the stream.
func (r *rig) topics() map[string]int32 {
	if r.writer != nil {
		return r.writer.Topics()
	}
	out := map[string]int32{}
	for _, t := range wire.TopicsOf(r.stream) {
		out[t.Topic] = 0
	}
	return out
}

// changesEnd is the end of the changes topic, over its partitions; 0 while there
// is none.
func (r *rig) changesEnd() (n int64) {
	ctx, cancel := context.WithTimeout(context.Background(), 30*time.Second)
	defer cancel()
	ends, err := r.kafka.Admin.ListEndOffsets(ctx, r.changesTopic())
	if err != nil {
		r.Fatal(err)
	}
	for _, o := range ends.Offsets()[r.changesTopic()] {
		n += max(o.At, 0)
	}
	return n
}
