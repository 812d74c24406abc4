package config

import (
	"sessionfold/fold"
	"sessionfold/wire"
)

// WireDialect is the dialect's number. The schema allows no other words.
func (s *Stream) WireDialect() wire.Dialect {
	for d := wire.DialectAGDX; d <= wire.DialectEverruns; d++ {
		if d.String() == s.Dialect {
			return d
		}
	}
	return wire.DialectAGDX
}

// Folding is what the fold is told of the stream.
func (s *Stream) Folding() fold.Config {
	return fold.Config{TimelineCap: s.TimelineCap, IdleTimeout: uint64(s.IdleTimeout.Microseconds()), Previews: s.Previews}
}

// Auto says that the records tell the dialect.
func (s *Stream) Auto() bool { return s.Dialect == "auto" }

// ExtraTopics are the topics beside those of the stream's name.
func (s *Stream) ExtraTopics() []wire.TopicRole {
	var out []wire.TopicRole
	for _, t := range s.Inboxes {
		out = append(out, wire.TopicRole{Topic: t, Role: wire.RoleWork})
	}
	for _, t := range s.Topics {
		role := wire.RoleLane
		if named := wire.RoleOf(s.Name, t); s.Auto() && named != wire.RoleNone { // as AGDX names it
			role = named
		}
		out = append(out, wire.TopicRole{Topic: t, Role: role})
	}
	return out
}

// LaneTopic is the lane topic of an AGDX stream; a foreign one has several or
// none of that name.
func (s *Stream) LaneTopic() string {
	if s.WireDialect() != wire.DialectAGDX || s.Auto() {
		return ""
	}
	for _, t := range wire.TopicsOf(s.Name) {
		if t.Role == wire.RoleLane {
			return t.Topic
		}
	}
	return ""
}

// Profiles says that the admin listener serves /debug/pprof.
func (c *Config) Profiles() bool {
	host, err := hostPort(c.Admin.Listen)
	return c.Admin.Pprof || err == nil && loopback(host)
}
