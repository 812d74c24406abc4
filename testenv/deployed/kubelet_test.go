package deployed

import (
	"context"
	"fmt"
	"net/http"
	"time"

	"sessionfold/testenv"
	"sessionfold/testenv/folder"
	"sessionfold/testenv/proc"
)

// start runs the container until terminate, and asks the liveness probe meanwhile.
// It returns when the startup probe has succeeded.
func (p *pod) start() {
	p.Helper()
	if p.proc != nil {
		p.mount()
	}
	var err error
	if p.proc, err = proc.StartCommand(p.command(p.args)); err != nil {
		p.Fatal(err)
	}
	running := p.proc
	p.Cleanup(func() {
		running.Kill()
		if p.Failed() {
			p.Logf("the last words of %s, life %d:\n%s", p.name, p.lives, running.Out)
		}
	})
	startup := p.m.folder().StartupProbe
	testenv.Eventually(p, time.Duration(startup.PeriodSeconds*startup.FailureThreshold)*time.Second, func() error {
		p.mustRun()
		return p.ask(startup)
	})
	p.alive, p.quit = make(chan error, 1), make(chan struct{})
	go p.watch(p.m.folder().LivenessProbe, p.alive, p.quit)
}

// watch asks the liveness probe at its period until quit, or until a kubelet would
// kill the container.
func (p *pod) watch(probe *probe, alive chan<- error, quit <-chan struct{}) {
	tick := time.NewTicker(time.Duration(probe.PeriodSeconds) * time.Second)
	defer tick.Stop()
	for failed := 0; ; {
		select {
		case <-quit:
			alive <- nil
			return
		case <-tick.C:
		}
		err := p.ask(probe)
		if failed++; err == nil {
			failed = 0
		} else if failed == probe.FailureThreshold {
			alive <- fmt.Errorf("the liveness probe of %s failed %d times, so it would be killed: %w", p.name, failed, err)
			return
		}
	}
}

// mustRun fails the test when the container has ended by itself: a kubelet would
// start it again, which nothing here should need.
func (p *pod) mustRun() {
	p.Helper()
	if err, ended := p.proc.Exited(); ended {
		p.Fatalf("%s ended by itself: %v\n%s", p.name, err, p.proc.Out)
	}
}

// port is that of this machine for a port of the container, by name or number.
func (p *pod) port(which any) int {
	for _, c := range p.m.folder().Ports {
		if which == c.Name || fmt.Sprint(which) == fmt.Sprint(c.ContainerPort) {
			return p.ports[c.ContainerPort]
		}
	}
	return 0 // nobody listens there
}

func (p *pod) url(port any) string { return fmt.Sprintf("http://127.0.0.1:%d", p.port(port)) }

// ask is one probe.
func (p *pod) ask(probe *probe) error {
	ctx, cancel := context.WithTimeout(context.Background(), time.Duration(max(1, probe.TimeoutSeconds))*time.Second)
	defer cancel()
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, p.url(probe.HTTPGet.Port)+probe.HTTPGet.Path, nil)
	if err != nil {
		return err
	}
	res, err := http.DefaultClient.Do(req)
	if err != nil {
		return err
	}
	defer res.Body.Close()
	if res.StatusCode < 200 || res.StatusCode >= 400 {
		return fmt.Errorf("%s: %s of port %v says %s", p.name, probe.HTTPGet.Path, probe.HTTPGet.Port, res.Status)
	}
	return nil
}

// ready waits until the pod has been ready for so long without a break.
func (p *pod) ready(within, available time.Duration) {
	p.Helper()
	var since time.Time
	testenv.Eventually(p, within, func() error {
		p.mustRun()
		if err := p.ask(p.m.folder().ReadinessProbe); err != nil {
			since = time.Time{}
			return err
		}
		if since.IsZero() {
			since = time.Now()
		}
		if left := available - time.Since(since); left > 0 {
			return fmt.Errorf("%s is ready, but not available before %s", p.name, left)
		}
		return nil
	})
}

// terminate ends the pod: preStop first.
func (p *pod) terminate() error {
	pre := time.Duration(p.m.folder().Lifecycle.PreStop.Sleep.Seconds) * time.Second
	time.Sleep(pre) // that is what the manifest asks for
	return p.end(pre)
}

// end is SIGTERM, and an end in order within what preStop has left of the grace.
func (p *pod) end(pre time.Duration) error {
	if err, ended := p.proc.Exited(); ended {
		return fmt.Errorf("%s ended by itself: %w\n%s", p.name, err, p.proc.Out)
	}
	close(p.quit)
	if err := <-p.alive; err != nil {
		return err
	}
	grace := time.Duration(p.m.pod().TerminationGracePeriodSeconds) * time.Second
	if err := p.proc.Stop(grace - pre); err != nil {
		return fmt.Errorf("%s does not end in order: %w\n%s", p.name, err, p.proc.Out)
	}
	return nil
}

// worker is for the pod's replies.
func (p *pod) worker(token string) *folder.Worker {
	return folder.At(p.url("http")+"/agdx", p.url("admin"), token)
}
