package fold

import (
	"fmt"
	"strconv"
	"strings"

	"sessionfold/wire"
)

// A transcript line is a record in the fold's own terms:
//
//	OFFSET TIME SESSION WORD…
//
// SESSION is a name ("-" for none). Each WORD is a display word, a fact
// (model, tool, error, issue, unpriced, lane, norow, heartbeat), a lifecycle
// word, or key=value. Values may be quoted as in Go; text*N repeats text.

// words splits a line at spaces outside quotes.
func words(line string) ([]string, error) {
	var out []string
	for line = strings.TrimLeft(line, " "); line != ""; line = strings.TrimLeft(line, " ") {
		n := 0
		for n < len(line) && line[n] != ' ' {
			if line[n] == '"' {
				q, err := strconv.QuotedPrefix(line[n:])
				if err != nil {
					return nil, fmt.Errorf("%q: %w", line[n:], err)
				}
				n += len(q)
				continue
			}
			n++
		}
		out, line = append(out, line[:n]), line[n:]
	}
	return out, nil
}

// unquote reads a value: plain, quoted, or either times a number.
func unquote(s string) (string, error) {
	times := 1
	if i := strings.LastIndexByte(s, '*'); i >= 0 {
		n, err := strconv.Atoi(s[i+1:])
		if err != nil {
			return "", err
		}
		s, times = s[:i], n
	}
	if strings.HasPrefix(s, `"`) {
		q, err := strconv.Unquote(s)
		if err != nil {
			return "", err
		}
		s = q
	}
	return strings.Repeat(s, times), nil
}

// nameID makes an id of a name, and lets the dumper print the name.
func (w *world) nameID(name string) wire.ID {
	var id wire.ID
	copy(id[16-min(16, len(name)):], name)
	w.dump.names[id] = name
	return id
}

// record reads one line.
func (w *world) record(line string) (wire.Record, error) {
	ws, err := words(line)
	if err != nil {
		return wire.Record{}, err
	}
	if len(ws) < 3 {
		return wire.Record{}, fmt.Errorf("%q: want OFFSET TIME SESSION …", line)
	}
	rec := wire.Record{Kind: wire.KindEvent, Display: wire.DisplayAgentMessage}
	if rec.Offset, err = strconv.ParseUint(ws[0], 10, 64); err != nil {
		return rec, err
	}
	if rec.Time, err = strconv.ParseUint(ws[1], 10, 64); err != nil {
		return rec, err
	}
	if ws[2] != "-" {
		rec.Session, rec.HasSession = w.nameID(ws[2]), true
	}
	for _, word := range ws[3:] {
		key, val, has := strings.Cut(word, "=")
		if has {
			if val, err = unquote(val); err == nil {
				err = w.keyed(&rec, key, val)
			}
		} else {
			err = plain(&rec, word)
		}
		if err != nil {
			return rec, fmt.Errorf("offset %d, %q: %w", rec.Offset, word, err)
		}
	}
	return rec, nil
}

var factWords = map[string]wire.Fact{
	"model": wire.FactModelCall, "tool": wire.FactToolCall, "error": wire.FactError, "issue": wire.FactIssue,
	"unpriced": wire.FactUnpriced, "lane": wire.FactLane, "norow": wire.FactNoRow, "heartbeat": wire.FactHeartbeat,
}

func plain(rec *wire.Record, word string) error {
	if f, ok := factWords[word]; ok {
		rec.Facts |= f
		return nil
	}
	if s, ok := wire.ParseStatus(word); ok {
		lifecycle(rec).Status = s
		return nil
	}
	switch word {
	case "start":
		start(rec)
	case "forced":
		lifecycle(rec).Forced = true
	default:
		d, ok := wire.ParseDisplay(word)
		if !ok {
			return fmt.Errorf("no such word")
		}
		rec.Display = d
		if d == wire.DisplayUndecodable {
			rec.Kind = wire.KindUndecodable
		}
	}
	return nil
}

func lifecycle(rec *wire.Record) *wire.Lifecycle {
	if rec.Lifecycle == nil {
		rec.Lifecycle = &wire.Lifecycle{}
	}
	return rec.Lifecycle
}

func start(rec *wire.Record) *wire.Start {
	l := lifecycle(rec)
	if l.Start == nil {
		l.Start = &wire.Start{}
	}
	return l.Start
}

func usage(rec *wire.Record) *wire.Usage {
	rec.Facts |= wire.FactUsage
	if rec.Usage == nil {
		rec.Usage = &wire.Usage{}
	}
	return rec.Usage
}

// keyed reads key=value.
func (w *world) keyed(rec *wire.Record, key, val string) error {
	num := func(to *uint64) (err error) { *to, err = strconv.ParseUint(val, 10, 64); return }
	has := func(to *uint64, bit wire.UsageHas) error { rec.Usage.Has |= bit; return num(to) }
	b := []byte(val)
	switch key {
	case "by":
		rec.Agent = b
		rec.Facts |= wire.FactAuthor
	case "parent":
		rec.Parent, rec.HasParent = w.nameID(val), true
	case "root":
		rec.Root, rec.HasRoot = w.nameID(val), true
	case "in":
		return num(&usage(rec).In)
	case "out":
		return num(&usage(rec).Out)
	case "cache_read":
		return has(&usage(rec).CacheRead, wire.HasCacheRead)
	case "cache_write":
		return has(&usage(rec).CacheWrite, wire.HasCacheWrite)
	case "reasoning":
		return has(&usage(rec).Reasoning, wire.HasReasoning)
	case "nano":
		return has(&usage(rec).CostNano, wire.HasCost)
	case "unsaid": // optional counts that are not marked as present
		u := usage(rec)
		u.CacheRead, u.CacheWrite, u.Reasoning = 5, 5, 5
		return num(&u.CostNano)
	case "reason":
		lifecycle(rec).Reason = b
	case "code":
		n, err := strconv.ParseUint(val, 10, 8)
		lifecycle(rec).ErrorCode, lifecycle(rec).HasError = uint8(n), true
		return err
	default:
		return w.keyedStart(start(rec), key, val)
	}
	return nil
}

// keyedStart reads key=value of a start.
func (w *world) keyedStart(s *wire.Start, key, val string) error {
	num := func(to *uint64) (err error) { *to, err = strconv.ParseUint(val, 10, 64); return }
	b := []byte(val)
	switch key {
	case "label":
		s.Label, s.HasLabel = b, true
	case "namespace":
		s.Namespace, s.HasNamespace = b, true
	case "owner":
		s.Agent = b
	case "sdk":
		lang, version, _ := strings.Cut(val, "/")
		s.SDKLanguage, s.SDKVersion, s.HasSDK = []byte(lang), []byte(version), true
	case "tag":
		s.Tags = append(s.Tags, b)
	case "idle":
		s.HasIdleTimeout = true
		return num(&s.IdleTimeout)
	case "budget_tokens":
		s.HasBudget, s.HasBudgetTokens = true, true
		return num(&s.BudgetTokens)
	case "budget_cost":
		s.HasBudget, s.HasBudgetCost = true, true
		return num(&s.BudgetCostMicros)
	case "of": // the start's own parent
		s.Parent, s.HasParent = w.nameID(val), true
	case "under": // the start's own root
		s.Root, s.HasRoot = w.nameID(val), true
	case "native":
		s.NativeID = b
	default:
		return fmt.Errorf("no such key")
	}
	return nil
}
