package main

import (
	"bytes"
	"testing"
	"time"

	"sessionfold/cmd/folder/internal/config"
)

func TestDurationsInLogsHaveAUnit(t *testing.T) {
	for format, want := range map[string]string{"json": `"took":"1.5s"`, "text": `took=1.5s`} {
		var b bytes.Buffer
		newLogger(&b, &config.Config{Log: config.Log{Level: "info", Format: format}}).Info("x", "took", 1500*time.Millisecond)
		if !bytes.Contains(b.Bytes(), []byte(want)) {
			t.Errorf("%s: %s", format, b.Bytes())
		}
	}
}
