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
		if s.Dialect == wire.DialectAGDX {
			topics = append(wire.TopicsOf(s.Name), topics...)
		}
		for _, t := range topics {
			m[t.Topic] = route{s, t.Role}
		}
	}
	return m
}

// GuessStreams finds the AGDX streams whose topics a log holds: every topic that
// is "<S>" and the name of a role.
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
	return out
}
