package fold

import (
	"encoding/json"
	"fmt"
	"strconv"
	"strings"

	"github.com/cockroachdb/datadriven"

	"sessionfold/wire"
)

// Further words of "agdx": pause, resume, cancel, force (control commands, with
// participants=a,b), parked and unparked (of=SOURCE@OFFSET agent=AGENT
// request=SOURCE@OFFSET), retrieved (items=a,b), link (surface= resource=
// item= relation= session= stream=). paused and working take ack=SOURCE@OFFSET.

var commandWords = map[string]string{
	"pause": wire.OpSessionPause, "resume": wire.OpSessionResume, "cancel": wire.OpSessionCancel, "force": wire.OpForceCancel,
}

// rare makes the records of those words.
func (w *world) rare(e *wire.Envelope, what string, k keys) bool {
	e.Kind = wire.KindEvent
	switch what {
	case "pause", "resume", "cancel", "force":
		e.Kind, e.Operation, e.Body = wire.KindCommand, []byte(commandWords[what]), []byte("{}")
		e.SetCorrelation(wire.ID{2})
		if v, ok := k.take("participants"); ok {
			e.Body = marshal(map[string]any{"participants": strings.Split(string(v), ",")})
		}
		if v, ok := k.take("body"); ok {
			e.Body = v
		}
	case "parked", "unparked":
		of, request := w.at(k.text("of")), w.at(k.text("request")).Locator()
		p := wire.SessionParking{Source: of, Role: k.text("agent"), Request: request[:]}
		e.Operation, e.Body = []byte("session_"+what), p.Marshal()
	case "retrieved":
		items := [][2]any{}
		for _, id := range strings.Split(string(k.text("items")), ",") {
			items = append(items, [2]any{id, 0.5})
		}
		e.Operation, e.Body = []byte(wire.OpContextRetrieved), marshal(map[string]any{"query": "secret", "items": items})
	case "link":
		body := map[string]any{}
		for _, key := range []string{"surface", "resource", "item", "relation"} {
			if v, ok := k.take(key); ok {
				body[key] = string(v)
			}
		}
		if v, ok := k.take("session"); ok {
			stream := "s"
			if v, ok := k.take("stream"); ok {
				stream = string(v)
			}
			body["session"] = map[string]any{"stream": stream, "session": w.nameID(string(v)).String()}
		}
		e.Operation, e.Body = []byte(wire.OpResourceLink), marshal(body)
	default:
		e.Kind = wire.KindStatus
		return false
	}
	return true
}

func marshal(v any) []byte {
	b, err := json.Marshal(v)
	if err != nil {
		panic(err)
	}
	return b
}

// at reads SOURCE@OFFSET, with another generation as SOURCE@OFFSET/GENERATION.
func (w *world) at(text []byte) wire.Pos {
	name, rest, _ := strings.Cut(string(text), "@")
	offset, generation, other := strings.Cut(rest, "/")
	n, err := strconv.ParseUint(offset, 10, 64)
	if err != nil {
		panic(err)
	}
	pos := w.sources[name].src.At(n)
	if other {
		if pos.Generation, err = strconv.ParseUint(generation, 10, 64); err != nil {
			panic(err)
		}
	}
	return pos
}

// memory makes a memory record: id=, ns=, and forget or weight= for the other
// kinds.
func (w *world) memory(raw *wire.Raw, k keys) {
	m := wire.MemoryRecord{Op: wire.MemoryItem, ID: []byte("m1"), Kind: []byte("note")}
	if v := k.text("id"); v != nil {
		m.ID = v
	}
	if _, ok := k.take("forget"); ok {
		m.Op = wire.MemoryForget
	}
	if _, ok := k.take("weigh"); ok {
		m.Op, m.Weight = wire.MemoryFeedback, 0.5
	}
	if v, ok := k.take("of"); ok {
		m.HasConversation, m.Conversation = true, w.nameID(string(v))
	}
	if v := k.text("ns"); v != nil {
		raw.Headers = append(raw.Headers, wire.Header{Key: wire.HeaderMemorySpace, Value: v})
	}
	raw.Value = m.Marshal([]byte("content"))
}

// links merges the links of the session named first over all sources, with the
// child links that follow from other sessions.
func (w *world) links(td *datadriven.TestData, first string) (string, error) {
	id := w.sessionID(first)
	var surface wire.LinkSurface
	if a, ok := td.Arg("surface"); ok {
		surface, _ = wire.ParseSurface(a.Vals[0])
	}
	var set LinkSet
	for _, name := range w.order {
		f := w.sources[name]
		if p := f.partials[id]; p != nil && p.Links != nil {
			set.Add(f.src, p.Links)
		}
		for other, p := range f.partials {
			k := Keyed{Source: f.src, Partial: p}
			if c, ok := k.ChildOf(id, other); ok {
				set.AddChild(&c)
			}
		}
	}
	var out strings.Builder
	for _, l := range set.Sorted(surface) {
		v := l.View()
		fmt.Fprintf(&out, "%s %q %s %s: %s to %s\n", v.Surface, v.Resource, text(v.Item), v.Relation, v.FirstText, v.LastText)
	}
	if set.Truncated {
		out.WriteString("truncated\n")
	}
	return out.String(), nil
}
