package k8stest

import (
	"path/filepath"
	"testing"

	"sessionfold/deploy/k8stest/rendered"
)

// dirs are the directories that users apply.
var dirs = []string{"base", "overlays/sasl-tls", "overlays/several"}

// each runs a test over every directory.
func each(t *testing.T, f func(t *testing.T, d *rendered.Deployment)) {
	for _, dir := range dirs {
		t.Run(filepath.Base(dir), func(t *testing.T) {
			d, err := rendered.Render(filepath.Join("..", "k8s", dir))
			if err != nil {
				t.Fatal(err)
			}
			f(t, d)
		})
	}
}
