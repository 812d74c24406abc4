package fold

import (
	"bytes"
	"encoding/binary"
	"testing"

	"sessionfold/wire"
)

var fuzzTopics = []string{
	"s.agent.sessions", "s.agent.streams", "s.agent.control", "s.agent.memory", "s.agent.dlq", "s.agent.audit",
	"s.agent.workflow_journal", "s.agent.heartbeats", "inbox",
}

// FuzzFold: whatever lies in a topic of any role, it folds into steps that hold
// all invariants, in one batch or record by record to the same partials, and
// nothing of the records' memory stays behind.
func FuzzFold(f *testing.F) {
	w := &world{dump: dumper{names: map[wire.ID]string{}}, sources: map[string]*folded{"control": newFolded("s.agent.control", 0)}}
	for _, line := range []string{
		"0 1000 a started by=ann label=x tags=a,b", "1 999 a completed reason=done", "2 5 a response op=chat in=1 out=2 cost=3",
		"3 7 a dead_letter of=b", "4 8 - memory", "5 9 b forced by=root", "6 1 a heartbeat",
		"7 2 a pause by=ann participants=bob,ann", "8 2 a cancel by=ann", "9 2 a paused by=ann ack=control@3", "10 2 a event parent=b by=ann",
		"11 2 a parked by=ann of=control@1 agent=ann request=control@3", "12 2 a unparked by=ann of=control@1 agent=ann request=control@3",
		"13 2 a link by=ann surface=kv resource=r item=i relation=wrote session=c", "14 2 a retrieved by=ann items=m1,m2",
	} {
		raw, err := w.raw(line)
		if err != nil {
			f.Fatal(err)
		}
		for role := range fuzzTopics {
			f.Add(uint8(role), raw.Key, raw.Value, raw.Value, uint64(raw.Timestamp))
		}
	}
	f.Fuzz(func(t *testing.T, role uint8, key, one, two []byte, times uint64) {
		key, one, two = bytes.Clone(key), bytes.Clone(one), bytes.Clone(two) // they are cleared below
		topic := fuzzTopics[int(role)%len(fuzzTopics)]
		raws := []wire.Raw{
			{Offset: 0, Timestamp: int64(times), Key: key, Value: one},
			{Offset: 1, Timestamp: int64(times << 32), Value: two, Headers: []wire.Header{{Key: wire.HeaderConversation, Value: key}}},
			{Offset: 5, Timestamp: int64(binary.BigEndian.Uint16(append(key[:len(key):len(key)], 0, 0))), Key: key, Value: two},
		}
		cfg := &Config{TimelineCap: 2}
		whole, single := newFolded(topic, 0), newFolded(topic, 0)
		whole.fold(cfg, wire.NewAGDXDecoder().Decode(whole.src, raws))
		dec := wire.NewAGDXDecoder()
		for i := range raws {
			single.fold(cfg, dec.Decode(single.src, raws[i:i+1]))
		}
		d := dumper{names: map[wire.ID]string{}}
		before := make(map[wire.ID]string)
		for id, p := range whole.partials {
			before[id] = d.fields(p)
			if q := single.partials[id]; q == nil || d.fields(q) != before[id] {
				t.Fatalf("%s: in one batch %s, one by one %v", id, before[id], q)
			}
		}
		for _, b := range [][]byte{key, one, two} {
			clear(b)
		}
		for id, p := range whole.partials {
			if after := d.fields(p); after != before[id] {
				t.Fatalf("%s keeps memory of a record:\n%s\n%s", id, before[id], after)
			}
		}
	})
}
