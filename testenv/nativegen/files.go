package nativegen

import (
	"fmt"
	"os"
	"path/filepath"
	"time"

	"sessionfold/wire"
)

// ExportFile is the name of the file that WriteFiles writes Everruns events to.
const ExportFile = "export.jsonl"

// WriteFiles writes the rest of the log as the dialect's programs leave it without
// Kafka: of DeepStrike a file <session>.jsonl for each session, of Everruns one
// export. Files have no tombstones, and every line of them an owner, so records
// that lack either are left out. All get the time of the epoch.
func (g *Generator) WriteFiles(dir string) (lines int, err error) {
	files := map[string][]byte{}
	for e := range g.All() {
		if e.Value == nil || e.Key == nil {
			continue
		}
		name := ExportFile
		if g.o.Dialect == wire.DialectDeepStrike {
			name = string(e.Key) + ".jsonl"
		}
		files[name] = append(append(files[name], e.Value...), '\n')
		lines++
	}
	for name, b := range files {
		file := filepath.Join(dir, name)
		if err := os.WriteFile(file, b, 0o644); err != nil {
			return 0, fmt.Errorf("nativegen: %w", err)
		}
		if err := os.Chtimes(file, time.Time{}, g.o.Epoch); err != nil {
			return 0, fmt.Errorf("nativegen: %w", err)
		}
	}
	return lines, nil
}
