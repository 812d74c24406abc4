package deployed

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"sessionfold/testenv"
	"sessionfold/wire"
)

// verified holds what each pod has stored of each stream against the log, with
// folder verify: no difference, and everything compared by the pod that owns it,
// to the end of its log.
func (s *set) verified(c *cluster, l *load, owners map[string][]wire.TopicPartition) {
	s.Helper()
	ends, err := c.Admin.ListEndOffsets(s.Context(), c.topics...)
	if err != nil {
		s.Fatal(err)
	}
	folded := map[wire.TopicPartition]uint64{}
	for _, p := range s.pods {
		next := map[wire.TopicPartition]uint64{}
		for _, stream := range []string{"agents", "deepstrike", "everruns"} {
			if !slices.ContainsFunc(owners[p.name], func(tp wire.TopicPartition) bool { return strings.HasPrefix(tp.Topic, stream+".") }) {
				continue
			}
			out, err := p.exec("verify", "--json", "--stream="+stream, s.m.folder().Args[1])
			if err != nil {
				s.Fatalf("folder verify: %v", err)
			}
			var r struct {
				Sources []struct {
					Topic         string
					Partition     int32
					Next, Records uint64
					Gaps          int
					Note          string
				}
				Whole, Partly, Older, Differ int
				Faults                       []string
			}
			if err := json.Unmarshal([]byte(out), &r); err != nil {
				s.Fatalf("folder verify --json: %v\n%s", err, out)
			}
			if r.Whole == 0 || r.Partly+r.Older+r.Differ+len(r.Faults) > 0 {
				s.Errorf("%s, %s: folder verify finds %s", p.name, stream, out)
			}
			for _, src := range r.Sources {
				if src.Note != "" || src.Gaps > 0 || src.Records != src.Next { // no markers, no gaps: every offset is a record
					s.Errorf("%s: %+v", p.name, src)
				}
				next[wire.TopicPartition{Topic: src.Topic, Partition: src.Partition}] = src.Next
			}
		}
		for _, tp := range owners[p.name] {
			folded[tp] = next[tp]
		}
	}
	written := map[string]int64{}
	for topic, ps := range ends.Offsets() {
		for _, o := range ps {
			written[topic] += o.At
			if got := folded[wire.TopicPartition{Topic: topic, Partition: o.Partition}]; got != uint64(o.At) {
				s.Errorf("%s[%d] ends at %d, its owner has folded and verified %d", topic, o.Partition, o.At, got)
			}
		}
	}
	for _, topic := range c.topics {
		if written[topic] != l.written[topic] {
			s.Errorf("topic %s has %d records, %d were written", topic, written[topic], l.written[topic])
		}
	}
}

// whole drains all pods but one, so that it answers for whole streams, and holds
// lists and change rows against what was written.
func (s *set) whole(c *cluster, l *load) {
	s.Helper()
	for _, p := range s.pods[1:] {
		if _, err := p.exec("drain", s.m.folder().Args[1]); err != nil {
			s.Fatal(err)
		}
	}
	p := s.pods[0]
	c.shared(s.T, p.name)
	w := p.worker(token)
	ctx, cancel := context.WithTimeout(s.Context(), 2*soon)
	defer cancel()
	testenv.Eventually(s, soon, func() error {
		got, err := w.Sessions(ctx, "agents")
		if err != nil {
			return err
		}
		for id, i := range got {
			if i.Flags.Rebuilding {
				return fmt.Errorf("session %s is being rebuilt", id)
			}
		}
		return l.agents.Check(got)
	})
	for stream, want := range l.foreign {
		got, err := w.Sessions(ctx, stream)
		if err != nil {
			s.Fatal(err)
		}
		for id, n := range want {
			if got[id].Events != n {
				s.Errorf("session %s of %s shows %d records, %d were written", id, stream, got[id].Events, n)
			}
		}
		if len(got) != len(want) {
			s.Errorf("%d sessions of %s are listed, %d were written", len(got), stream, len(want))
		}
	}
	if err := c.Covered(s, group+"-changes", c.topics...); err != nil {
		s.Error(err)
	}
}
