package fold

import (
	"encoding/json"
	"fmt"
	"strconv"
	"strings"

	"github.com/cockroachdb/datadriven"

	"sessionfold/wire"
)

// A line of "native" is a Kafka record of the source's dialect:
//
//	OFFSET MILLISECONDS KEY VALUE
//
// VALUE is the record's value, or "null"; KEY may be "-".

func (w *world) native(src *wire.Source, input string) ([]wire.Record, error) {
	var raws []wire.Raw
	for _, line := range strings.Split(strings.TrimSpace(input), "\n") {
		parts := strings.SplitN(line, " ", 4)
		if len(parts) != 4 {
			return nil, fmt.Errorf("%q: want OFFSET MILLISECONDS KEY VALUE", line)
		}
		var raw wire.Raw
		var err error
		if raw.Offset, err = strconv.ParseUint(parts[0], 10, 64); err == nil {
			raw.Timestamp, err = strconv.ParseInt(parts[1], 10, 64)
		}
		if err != nil {
			return nil, fmt.Errorf("%q: %w", line, err)
		}
		if parts[2] != "-" {
			raw.Key = []byte(parts[2])
			w.nativeID(src, parts[2])
		}
		if parts[3] != "null" {
			raw.Value = []byte(parts[3])
		}
		raws = append(raws, raw)
	}
	recs := wire.NewDecoder(src.Dialect, nil).Decode(src, raws)
	for i := range recs { // what the values name
		if recs[i].HasSession {
			w.nativeID(src, string(recs[i].Rare.Native.ID))
		}
	}
	return recs, nil
}

// nativeID is the id of a session of a foreign source by its text.
func (w *world) nativeID(src *wire.Source, text string) wire.ID {
	id := wire.NativeID(src.Dialect, src.Stream, []byte(text))
	if _, known := w.dump.names[id]; !known {
		w.dump.names[id] = text
	}
	return id
}

// sessionID is the id of the session that a command names.
func (w *world) sessionID(name string) wire.ID {
	for _, f := range w.sources {
		if f.src.Dialect != wire.DialectAGDX {
			if id := wire.NativeID(f.src.Dialect, f.src.Stream, []byte(name)); w.dump.names[id] != "" {
				return id
			}
		}
	}
	return w.nameID(name)
}

// audit prints the audit snapshot of a session in both shapes.
func (w *world) audit(s *Session) (string, error) {
	k := s.AuditSource()
	if k == nil {
		return "no kernel decision\n", nil
	}
	second, err := json.MarshalIndent(k.Partial.Native.Audit.View(), "", " ")
	if err != nil {
		return "", err
	}
	first, err := json.MarshalIndent(k.Partial.Native.Audit.ViewV1(), "", " ")
	return string(second) + "\n--\n" + string(first) + "\n", err
}

// nativeView prints what only sessions of foreign dialects have beside the view.
func (w *world) nativeView(td *datadriven.TestData, s *Session) (string, error) {
	switch td.Cmd {
	case "audit":
		return w.audit(s)
	case "partial": // what the partials hold
		var b strings.Builder
		for i := range s.Sources {
			fmt.Fprintf(&b, "%s %s\n", s.Sources[i].Source, w.dump.fields(s.Sources[i].Partial.Native))
		}
		return b.String(), nil
	}
	return "", fmt.Errorf("no command %q", td.Cmd)
}
