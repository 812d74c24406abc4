package k8stest

import (
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"

	"sessionfold/deploy/k8stest/rendered"
)

// TestGoKnowsItsMemory: below the container's limit, or the kernel ends the worker
// before the collector works harder; well above the cache, which is part of it.
func TestGoKnowsItsMemory(t *testing.T) {
	cache := regexp.MustCompile(`(?m)^  cache: (\d+)MiB$`)
	each(t, func(t *testing.T, d *rendered.Deployment) {
		limit := d.Folder().Resources.Limits.Memory().Value() >> 20
		if limit == 0 || d.Folder().Resources.Requests.Memory().Value()>>20 != limit {
			t.Errorf("memory: limit %d MiB, request %d MiB; they should be the same", limit, d.Folder().Resources.Requests.Memory().Value()>>20)
		}
		if d.Folder().Resources.Requests.Cpu().IsZero() {
			t.Error("no processor time is asked for")
		}
		env := d.Folder().Env
		i := slices.IndexFunc(env, func(e corev1.EnvVar) bool { return e.Name == "GOMEMLIMIT" })
		if i < 0 {
			t.Fatal("GOMEMLIMIT is not set")
		}
		goLimit, err := strconv.ParseInt(strings.TrimSuffix(env[i].Value, "MiB"), 10, 64)
		if err != nil || goLimit > limit*9/10 || goLimit < limit/2 {
			t.Errorf("GOMEMLIMIT is %d MiB (%v) of %d", goLimit, err, limit)
		}
		for _, c := range d.Configs {
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
