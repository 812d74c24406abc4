package deployed

import (
	"errors"
	"fmt"
	"sync"
	"testing"
	"time"
)

// soon is how long a pod may take to be ready, and partitions to move: less than
// the session of 120 s, so that nothing here waits for its end.
const soon = 90 * time.Second

// set is a StatefulSet: its controller's part, for pods that run in parallel.
type set struct {
	*testing.T
	m    *manifest
	pods []*pod // those that run, by ordinal
	all  []*pod // those that have a volume
	of   *surroundings
}

// scale runs so many pods. Those with the highest ordinals go, all at once.
func (s *set) scale(n int) {
	s.Helper()
	for i := len(s.pods); i < n; i++ {
		if i == len(s.all) {
			s.all = append(s.all, newPod(s.T, s.m, fmt.Sprintf("sessionfold-%d", i), s.of))
		}
		s.all[i].start()
		s.pods = append(s.pods, s.all[i])
	}
	gone := s.pods[n:]
	s.pods = s.pods[:n:n]
	errs := make([]error, len(gone))
	var wg sync.WaitGroup
	for i, p := range gone {
		wg.Go(func() { errs[i] = p.terminate() })
	}
	wg.Wait()
	if err := errors.Join(errs...); err != nil {
		s.Fatal(err)
	}
	for _, p := range s.pods {
		p.ready(soon, 0)
	}
}

// roll replaces the pods one by one, the highest ordinal first, each when the one
// before is available. each is called when a pod is ready again.
func (s *set) roll(each func(p *pod)) {
	s.Helper()
	for i := len(s.pods) - 1; i >= 0; i-- {
		p := s.pods[i]
		if err := p.terminate(); err != nil {
			s.Fatal(err)
		}
		p.start()
		p.ready(soon, time.Duration(s.m.Set.Spec.MinReadySeconds)*time.Second)
		each(p)
	}
}

// names of the pods that run.
func (s *set) names() (out []string) {
	for _, p := range s.pods {
		out = append(out, p.name)
	}
	return out
}
