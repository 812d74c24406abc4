package replay

import (
	"slices"
	"strings"

	"sessionfold/fold"
	"sessionfold/wire"
)

// Stream is a stream to fold.
type Stream struct {
	Name    string
	Dialect wire.Dialect
	Auto    bool             // the records of each topic tell its dialect
	Topics  []wire.TopicRole // beside those of an AGDX stream's name
	Fold    fold.Config
	Keys    *wire.Keys // that signatures are held against; nil: none
}

// route says what a topic is, by the streams' configuration.
type route struct {
	stream *Stream
	role   wire.Role
}

func routes(streams []Stream) map[string]route {
	m := map[string]route{}
	for i := range streams {
		s := &streams[i]
		topics := s.Topics
		if s.Dialect == wire.DialectAGDX && !s.Auto {
			topics = append(wire.TopicsOf(s.Name), topics...)
		}
		for _, t := range topics {
			m[t.Topic] = route{s, t.Role}
		}
	}
	return m
}

// exportRoute is where the lines of a dialect's own files go: to the first topic
// of the first stream that takes them.
func exportRoute(streams []Stream, d wire.Dialect) (topic string, ok bool) {
	for i := range streams {
		if s := &streams[i]; (s.Dialect == d || s.Auto) && len(s.Topics) > 0 {
			return s.Topics[0].Topic, true
		}
	}
	return "", false
}

// GuessStreams finds the streams whose topics a log holds: of AGDX every topic
// that is "<S>" and the name of a role; a foreign dialect's files are a stream
// with the dialect's name.
func GuessStreams(topics []string) []Stream {
	var names []string
	for _, topic := range topics {
		for _, t := range wire.TopicsOf("") {
			if name, ok := strings.CutSuffix(topic, t.Topic); ok && name != "" && !slices.Contains(names, name) {
				names = append(names, name)
			}
		}
	}
	slices.Sort(names)
	var out []Stream
	for _, n := range names {
		out = append(out, Stream{Name: n, Dialect: wire.DialectAGDX})
	}
	for _, d := range []wire.Dialect{wire.DialectDeepStrike, wire.DialectEverruns} {
		if n := d.String(); slices.Contains(topics, n) {
			out = append(out, Stream{Name: n, Dialect: d, Topics: []wire.TopicRole{{Topic: n, Role: wire.RoleLane}}})
		}
	}
	return out
}
