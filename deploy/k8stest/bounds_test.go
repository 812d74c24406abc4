package k8stest

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"encoding/pem"
	"math/big"
	"regexp"
	"strconv"
	"strings"
	"testing"
	"time"
)

// TestGraceIsLongerThanAStop: a worker that is killed in its last commit loses
// nothing, but its successor folds that again.
func TestGraceIsLongerThanAStop(t *testing.T) {
	m := regexp.MustCompile(`A stop ends within (\S+)\. `).FindStringSubmatch(ask(t, nil, "run", "--help"))
	if m == nil {
		t.Fatal("folder run --help does not say how long a stop takes")
	}
	bound, err := time.ParseDuration(m[1])
	if err != nil {
		t.Fatal(err)
	}
	session := regexp.MustCompile(`(?m)^  session_timeout: (\S+)$`)
	each(t, func(t *testing.T, d *deployment) {
		pre := time.Duration(d.folder().Lifecycle.PreStop.Sleep.Seconds) * time.Second
		grace := time.Duration(*d.pod().TerminationGracePeriodSeconds) * time.Second
		if grace <= pre+bound {
			t.Errorf("terminationGracePeriodSeconds is %s; preStop and the program's own bound are %s", grace, pre+bound)
		}
		for _, c := range d.configs {
			s := session.FindStringSubmatch(c.Data["folder.yaml"])
			if s == nil {
				t.Fatal("the configuration sets no session_timeout")
			}
			if timeout, err := time.ParseDuration(s[1]); err != nil || timeout <= grace {
				t.Errorf("session_timeout %s (%v) is not longer than the grace of %s: a slow restart would move partitions", s[1], err, grace)
			}
		}
	})
}

// TestGoKnowsItsMemory: below the container's limit, or the kernel ends the worker
// before the collector works harder; well above the cache, which is part of it.
func TestGoKnowsItsMemory(t *testing.T) {
	cache := regexp.MustCompile(`(?m)^  cache: (\d+)MiB$`)
	each(t, func(t *testing.T, d *deployment) {
		limit := d.folder().Resources.Limits.Memory().Value() >> 20
		if limit == 0 || d.folder().Resources.Requests.Memory().Value()>>20 != limit {
			t.Errorf("memory: limit %d MiB, request %d MiB; they should be the same", limit, d.folder().Resources.Requests.Memory().Value()>>20)
		}
		if d.folder().Resources.Requests.Cpu().IsZero() {
			t.Error("no processor time is asked for")
		}
		goLimit, err := strconv.ParseInt(strings.TrimSuffix(d.podIn(t).values["GOMEMLIMIT"], "MiB"), 10, 64)
		if err != nil || goLimit > limit*9/10 || goLimit < limit/2 {
			t.Errorf("GOMEMLIMIT is %d MiB (%v) of %d", goLimit, err, limit)
		}
		for _, c := range d.configs {
			m := cache.FindStringSubmatch(c.Data["folder.yaml"])
			if m == nil {
				t.Fatal("the configuration sets no store.cache")
			}
			if n, _ := strconv.ParseInt(m[1], 10, 64); n*3 > goLimit {
				t.Errorf("store.cache is %d MiB of %d: it leaves too little for folding", n, goLimit)
			}
		}
	})
}

// authority is a certificate that a CA file may hold.
func authority(t *testing.T) string {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	c := &x509.Certificate{SerialNumber: big.NewInt(1), NotAfter: time.Now().Add(time.Hour), IsCA: true, BasicConstraintsValid: true}
	der, err := x509.CreateCertificate(rand.Reader, c, c, &key.PublicKey, key)
	if err != nil {
		t.Fatal(err)
	}
	return string(pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der}))
}
