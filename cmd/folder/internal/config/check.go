package config

import (
	"fmt"
	"net"
	"os"
	"regexp"
	"strconv"
	"strings"
	"time"

	"sessionfold/cmd/folder/internal/keys"
	"sessionfold/serve"
	"sessionfold/wire"
)

// checker collects what is wrong with the values of a configuration, taken
// together.
type checker struct {
	*Loaded
	bad Problems
}

func (l *Loaded) check() Problems {
	c := &checker{Loaded: l}
	c.kafka()
	c.streams()
	c.storeAndOutput()
	c.listeners()
	c.commit()
	return c.bad
}

func (c *checker) fail(path, hint, format string, args ...any) {
	c.bad = append(c.bad, Problem{path, c.Origin(path), fmt.Sprintf(format, args...), hint})
}

func (c *checker) kafka() {
	if len(c.Kafka.Brokers) == 0 {
		c.fail("kafka.brokers", "name at least one broker, host:port", "is empty")
	}
	for _, b := range c.Kafka.Brokers {
		if _, err := hostPort(b); err != nil {
			c.fail("kafka.brokers", "write host:port, for example localhost:9092", "%q %v", b, err)
		}
	}
	if !legalTopic(c.Kafka.Group) {
		c.fail("kafka.group", topicHint+"; it becomes part of topic names", "%q is no legal name", c.Kafka.Group)
	}
	if t := c.Kafka.SessionTimeout; t < time.Second || t > 30*time.Minute {
		c.fail("kafka.session_timeout", "between 1s and 30m; Redpanda takes at most 5m", "%v is out of range", t)
	}
	c.security()
}

func (c *checker) security() {
	k := &c.Kafka
	files := map[string]string{"tls_ca_file": k.TLSCAFile, "tls_cert_file": k.TLSCertFile, "tls_key_file": k.TLSKeyFile}
	for _, key := range []string{"tls_ca_file", "tls_cert_file", "tls_key_file"} {
		if files[key] == "" {
			continue
		}
		if !k.TLS {
			c.fail("kafka."+key, "set kafka.tls: true, or remove it", "has no effect without TLS")
		}
		c.readable("kafka."+key, files[key])
	}
	if (k.TLSCertFile == "") != (k.TLSKeyFile == "") {
		c.fail("kafka.tls_cert_file", "give both or neither", "a certificate and its key go together")
	}
	c.login()
}

func (c *checker) readable(path, file string) {
	f, err := os.Open(file)
	if err != nil {
		c.fail(path, "it must be there and readable by this user", "%s: %s", file, unwrapPath(err))
		return
	}
	_ = f.Close() // nothing was written
}

var topicName = regexp.MustCompile(`^[a-zA-Z0-9._-]{1,200}$`)

const topicHint = "1 to 200 of a-z A-Z 0-9 . _ -"

func legalTopic(s string) bool { return topicName.MatchString(s) && s != "." && s != ".." }

func (c *checker) streams() {
	if len(c.Streams) == 0 {
		c.fail("streams", "add one, for example streams: [{name: agents}]", "is empty: there is nothing to fold")
	}
	streams, topics := map[uint32]string{}, map[string]string{}
	for i, s := range c.Streams {
		at := fmt.Sprintf("streams[%d]", i)
		if !legalTopic(s.Name) {
			c.fail(at+".name", topicHint, "%q is no legal name", s.Name)
		} else if other, taken := streams[wire.NameID(s.Name)]; taken {
			what := "another stream has this name"
			if other != s.Name {
				what = fmt.Sprintf("has the same number (CRC-32C) as stream %q, and positions name streams by number", other)
			}
			c.fail(at+".name", "rename one of the two", "%s", what)
		}
		streams[wire.NameID(s.Name)] = s.Name
		c.streamTopics(at, &s, topics)
		if s.TimelineCap == 0 {
			c.fail(at+".timeline_cap", "1 or more", "0 would keep no timeline")
		}
		if d := s.IdleTimeout; d < time.Second || d > 10*8760*time.Hour {
			c.fail(at+".idle_timeout", "1s to 87600h", "%s", d)
		}
		c.keys(at, &s)
	}
	if c.Output.Changes != "" || legalTopic(c.Kafka.Group) {
		if owner, taken := topics[c.ChangesTopic()]; taken {
			c.fail("output.changes", "name a topic of its own", "%q is read by stream %q: the worker would fold its own output", c.ChangesTopic(), owner)
		}
	}
}

// keys reads the file of a stream's keys once, so that a bad one is told of here.
func (c *checker) keys(at string, s *Stream) {
	switch {
	case s.KeysFile == "":
	case s.WireDialect() != wire.DialectAGDX:
		c.fail(at+".keys_file", "remove it", "records of a %s stream carry no signatures", s.Dialect)
	default:
		if _, err := keys.Read(s.KeysFile); err != nil {
			c.fail(at+".keys_file", keys.Hint, "%v", err)
		}
	}
}

// streamTopics checks the topics that belong to one stream against each other
// and against those of the streams before.
func (c *checker) streamTopics(at string, s *Stream, owner map[string]string) {
	agdx := s.Dialect == "agdx"
	if agdx && len(s.Topics) > 0 {
		c.fail(at+".topics", "remove it, or use inboxes for topics of addressed work", "an agdx stream derives its topics from its name")
	}
	if !agdx && len(s.Topics) == 0 {
		c.fail(at+".topics", "name the topics that hold its records", "a %s stream needs topics", s.Dialect)
	}
	if !agdx && len(s.Inboxes) > 0 {
		c.fail(at+".inboxes", "remove it", "only an agdx stream has inboxes")
	}
	numbers := map[uint32]string{}
	add := func(path, topic string) {
		if !legalTopic(topic) {
			c.fail(path, topicHint, "%q is no legal topic name", topic)
			return
		}
		if other, taken := owner[topic]; taken {
			c.fail(path, "a topic belongs to one stream, once", "topic %q already belongs to stream %q", topic, other)
			return
		}
		if other, taken := numbers[wire.NameID(topic)]; taken {
			c.fail(path, "rename one of the two", "topics %q and %q have the same number (CRC-32C), and positions name topics by number", topic, other)
		}
		owner[topic], numbers[wire.NameID(topic)] = s.Name, topic
	}
	if agdx && legalTopic(s.Name) {
		for _, tr := range wire.TopicsOf(s.Name) {
			add(at+".name", tr.Topic)
		}
	}
	for _, topic := range s.Inboxes {
		add(at+".inboxes", topic)
	}
	for _, topic := range s.Topics {
		add(at+".topics", topic)
	}
}

func (c *checker) storeAndOutput() {
	if c.Store.Dir == "" {
		c.fail("store.dir", "a directory that survives restarts, for example /var/lib/sessionfold", "is empty")
	}
	if c.Store.Cache < 1<<20 {
		c.fail("store.cache", "at least 1MiB", "%v is too small", c.Store.Cache)
	}
	if c.Output.Changes != "" && !legalTopic(c.Output.Changes) {
		c.fail("output.changes", topicHint, "%q is no legal topic name", c.Output.Changes)
	}
	if n := c.Output.ReplicationFactor; n != -1 && (n < 1 || n > 9) {
		c.fail("output.replication_factor", "-1 for the broker's default, or 1 to 9; odd on Redpanda", "%d is out of range", n)
	}
}

func (c *checker) listeners() {
	if p := c.HTTP.Prefix; p != "" && (!strings.HasPrefix(p, "/") || strings.HasSuffix(p, "/") || strings.ContainsAny(p, " ?#{}")) {
		c.fail("http.prefix", "for example /agdx", "%q does not begin with a slash, or ends in one, or is no path", p)
	}
	host, err := hostPort(c.HTTP.Listen)
	if err != nil {
		c.fail("http.listen", "write host:port, for example 127.0.0.1:8080", "%q %v", c.HTTP.Listen, err)
	} else if !loopback(host) && c.HTTP.TokensFile == "" && !c.HTTP.InsecureNoAuth {
		c.fail("http.listen", "set http.tokens_file, or --http.insecure_no_auth=true when the network is the protection", "%q is reachable from other machines and nothing guards it", c.HTTP.Listen)
	}
	if f := c.HTTP.TokensFile; f != "" {
		c.readable("http.tokens_file", f)
	}
	for _, u := range c.HTTP.Peers {
		if err := serve.CheckPeerURL(u); err != nil {
			c.fail("http.peers", "base URLs like http://worker-1:8080, or dns+http://workers:8080 for all addresses of a name", "%q %v", u, err)
		}
	}
	if d := c.HTTP.PeersTimeout; d < 10*time.Millisecond || d > 30*time.Second {
		c.fail("http.peers_timeout", "between 10ms and 30s", "%v is out of range", d)
	}
	switch f := c.HTTP.PeersTokenFile; {
	case f != "" && len(c.HTTP.Peers) == 0:
		c.fail("http.peers_token_file", "set http.peers, or leave it out", "there is nobody to show the token to")
	case f != "":
		c.readable("http.peers_token_file", f)
	case c.HTTP.TokensFile != "" && len(c.HTTP.Peers) > 0:
		c.fail("http.peers_token_file", "a file with a token whose hash stands in http.tokens_file", "the workers want tokens (http.tokens_file) and this one has none for the others")
	}
	if _, err := hostPort(c.Admin.Listen); err != nil {
		c.fail("admin.listen", "write host:port, for example 127.0.0.1:9090", "%q %v", c.Admin.Listen, err)
	}
	if c.Admin.Listen == c.HTTP.Listen && !strings.HasSuffix(c.Admin.Listen, ":0") {
		c.fail("admin.listen", "use another port", "is the address of http.listen")
	}
}

func (c *checker) commit() {
	if d := c.Commit.Interval; d < time.Millisecond || d > 10*time.Second {
		c.fail("commit.interval", "between 1ms and 10s", "%v is out of range", d)
	}
	if c.Commit.MaxBytes < 1<<10 {
		c.fail("commit.max_bytes", "at least 1KiB", "%v is too small", c.Commit.MaxBytes)
	}
	if n := c.Commit.MaxRecords; n < 1 || n > 10_000_000 {
		c.fail("commit.max_records", "between 1 and 10000000", "%d is out of range", n)
	}
}

func hostPort(s string) (string, error) {
	host, port, err := net.SplitHostPort(s)
	if err != nil {
		return "", fmt.Errorf("has no host and port")
	}
	if n, err := strconv.ParseUint(port, 10, 16); err != nil || (n == 0 && port != "0") {
		return "", fmt.Errorf("has port %q, not 0 to 65535", port)
	}
	return host, nil
}

func loopback(host string) bool {
	ip := net.ParseIP(host)
	return host == "localhost" || ip != nil && ip.IsLoopback()
}
