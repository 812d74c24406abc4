package folder

import (
	"context"
	"fmt"
	"strconv"
	"strings"
)

// Series are the values of a scrape of /metrics, by name and labels as the text
// has them.
type Series map[string]float64

// ParseSeries reads the text form of metrics.
func ParseSeries(text []byte) (Series, error) {
	out := Series{}
	for line := range strings.Lines(string(text)) {
		if strings.HasPrefix(line, "#") {
			continue
		}
		at := strings.LastIndexByte(line, ' ')
		v, err := strconv.ParseFloat(strings.TrimSpace(line[at+1:]), 64)
		if err != nil {
			return nil, fmt.Errorf("folder: metrics line %q: %w", line, err)
		}
		out[line[:at]] = v
	}
	return out, nil
}

// Scrape reads a running worker's metrics.
func (w *Worker) Scrape(ctx context.Context) (Series, error) {
	body, err := w.Get(ctx, w.Admin+"/metrics")
	if err != nil {
		return nil, err
	}
	return ParseSeries(body)
}

// Sum adds up the series of a name (without "folder_") that have all the labels.
func (s Series) Sum(name string, labels ...string) (v float64) {
next:
	for k, one := range s {
		n, rest, _ := strings.Cut(k, "{")
		if n != "folder_"+name {
			continue
		}
		for _, l := range labels {
			if !strings.Contains(rest, l) {
				continue next
			}
		}
		v += one
	}
	return v
}
