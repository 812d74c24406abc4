package daemon

import (
	"log/slog"

	"sessionfold/cmd/folder/internal/app"
	"sessionfold/cmd/folder/internal/config"
	"sessionfold/cmd/folder/internal/keys"
	"sessionfold/serve"
	"sessionfold/source"
	"sessionfold/wire"
)

// Keys opens the keys files of the streams that have one.
func Keys(c *config.Config) (map[string]*keys.File, error) {
	paths := map[string]string{}
	for i := range c.Streams {
		if s := &c.Streams[i]; s.KeysFile != "" {
			paths[s.Name] = s.KeysFile
		}
	}
	return keys.OpenAll(paths)
}

// AppConfig is the worker's part of the configuration; enrolled are the keys of
// its streams.
func AppConfig(c *config.Config, enrolled map[string]*keys.File, log *slog.Logger) (app.Config, error) {
	conn, err := Conn(c, log)
	if err != nil {
		return app.Config{}, err
	}
	a := app.Config{
		Kafka: conn, Group: c.Kafka.Group, Instance: c.Kafka.Instance,
		ChangesTopic: c.ChangesTopic(), ReplicationFactor: int16(c.Output.ReplicationFactor), CheckTopics: !c.Output.CreateTopics,
		SessionTimeout: c.Kafka.SessionTimeout, LeaveOnStop: c.Kafka.LeaveOnStop,
		DataDir: c.Store.Dir, CacheBytes: int64(c.Store.Cache),
		BatchInterval: c.Commit.Interval, BatchRecords: int(c.Commit.MaxRecords), BatchBytes: int(c.Commit.MaxBytes),
		Logger: log,
	}
	for i := range c.Streams {
		s := stream(&c.Streams[i], c.Output.Summaries)
		s.Keys = enrolled[s.Name].Current
		a.Streams = append(a.Streams, s)
	}
	return a, nil
}

func stream(s *config.Stream, summaries bool) app.Stream {
	f := s.Folding()
	f.Summaries = summaries
	return app.Stream{
		Name: s.Name, Dialect: s.WireDialect(), Auto: s.Auto(), Topics: s.ExtraTopics(),
		Fold: f,
	}
}

// SourceStreams are the streams as the reader of logs wants them.
func SourceStreams(c *config.Config) []source.Stream {
	var out []source.Stream
	for i := range c.Streams {
		s := &c.Streams[i]
		topics := s.ExtraTopics()
		if s.WireDialect() == wire.DialectAGDX && !s.Auto() {
			topics = append(wire.TopicsOf(s.Name), topics...)
		}
		out = append(out, source.Stream{Name: s.Name, Dialect: s.WireDialect(), Auto: s.Auto(), Topics: topics})
	}
	return out
}

// ServedStreams are the streams as the reads want them.
func ServedStreams(c *config.Config) []serve.Stream {
	var out []serve.Stream
	for i := range c.Streams {
		s := &c.Streams[i]
		out = append(out, serve.Stream{Name: s.Name, Dialect: s.WireDialect(), Auto: s.Auto(), Lane: s.LaneTopic(), Idle: s.IdleTimeout})
	}
	return out
}

// tokens reads the token file; nil without one.
