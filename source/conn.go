package source

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"strings"
	"time"

	"github.com/twmb/franz-go/pkg/kgo"
	"github.com/twmb/franz-go/pkg/sasl/oauth"
	"github.com/twmb/franz-go/pkg/sasl/plain"
	"github.com/twmb/franz-go/pkg/sasl/scram"
	"github.com/twmb/franz-go/plugin/kslog"
)

// Conn says how to reach the brokers. Options gives it in the client's terms,
// for the consumer here and for the producer of package sink.
type Conn struct {
	Brokers  []string // host:port
	ClientID string   // default "sessionfold"
	// TLS gives what the next connection is made with, so that files which have
	// changed count from then on; nil: no TLS.
	TLS    func() (*tls.Config, error)
	SASL   SASL
	Dial   func(ctx context.Context, network, addr string) (net.Conn, error) // below TLS, for tests
	Logger *slog.Logger
}

// SASL is the authentication; an empty Mechanism means none. The functions are
// called at each authentication, so that a rotated file is read again.
type SASL struct {
	Mechanism string // "PLAIN", "SCRAM-SHA-256", "SCRAM-SHA-512" or "OAUTHBEARER"
	User      string // not for OAUTHBEARER, whose token names it
	Password  func() (string, error)
	Token     func(context.Context) (string, error) // for OAUTHBEARER
}

// A broker that is frozen, or behind a network that drops everything, takes
// connections and answers none. Whatever was asked of it hangs until its time is
// up, and is asked of it again, for as long as the client does not learn from
// another broker that the cluster goes on without it: so both bounds are short.
const (
	answerWait = 5 * time.Second // beside what a request itself allows the broker to take
	knowBroker = 5 * time.Second // how old the client's picture of the cluster may be
)

// Options gives the client options of the connection.
func (c Conn) Options() ([]kgo.Opt, error) {
	if len(c.Brokers) == 0 {
		return nil, errors.New("source: no brokers are configured")
	}
	id := c.ClientID
	if id == "" {
		id = "sessionfold"
	}
	opts := []kgo.Opt{
		kgo.SeedBrokers(c.Brokers...), kgo.ClientID(id),
		kgo.RequestTimeoutOverhead(answerWait), kgo.MetadataMaxAge(knowBroker),
		// The worker has metrics of its own; the client's (KIP-714) cost each
		// client some megabytes to compress them.
		kgo.DisableClientMetrics(),
	}
	if c.Logger != nil {
		opts = append(opts, kgo.WithLogger(kslog.New(c.Logger)))
	}
	opts = append(opts, kgo.Dialer(newSilent().around(c.dialer())))
	if c.SASL.Mechanism != "" {
		o, err := c.SASL.option()
		if err != nil {
			return nil, err
		}
		opts = append(opts, o)
	}
	return opts, nil
}

// dialer is what connects to a broker.
func (c Conn) dialer() dial {
	switch {
	case c.TLS != nil:
		return c.dialTLS
	case c.Dial != nil:
		return c.Dial
	}
	return (&net.Dialer{Timeout: answerWait}).DialContext
}

// dialTLS makes a connection and its handshake, under the configuration of now.
func (c Conn) dialTLS(ctx context.Context, network, addr string) (net.Conn, error) {
	ctx, cancel := context.WithTimeout(ctx, answerWait)
	defer cancel()
	cfg, err := c.TLS()
	if err != nil {
		return nil, err
	}
	if cfg.ServerName == "" {
		host, _, err := net.SplitHostPort(addr)
		if err != nil {
			return nil, fmt.Errorf("source: broker %s: %w", addr, err)
		}
		cfg = cfg.Clone()
		cfg.ServerName = host
	}
	dial := c.Dial
	if dial == nil {
		dial = new(net.Dialer).DialContext
	}
	raw, err := dial(ctx, network, addr)
	if err != nil {
		return nil, err
	}
	conn := tls.Client(raw, cfg)
	if err := conn.HandshakeContext(ctx); err != nil {
		_ = raw.Close() // the handshake's error says more
		return nil, fmt.Errorf("source: TLS with broker %s: %w", addr, err)
	}
	return conn, nil
}

func (s SASL) option() (kgo.Opt, error) {
	if strings.EqualFold(s.Mechanism, "OAUTHBEARER") {
		if s.Token == nil {
			return nil, errors.New("source: SASL OAUTHBEARER needs a token")
		}
		return kgo.SASL(oauth.Oauth(func(ctx context.Context) (oauth.Auth, error) {
			t, err := s.Token(ctx)
			return oauth.Auth{Token: t}, err
		})), nil
	}
	if s.User == "" || s.Password == nil {
		return nil, fmt.Errorf("source: SASL %s needs a user and a password", s.Mechanism)
	}
	scramAuth := func(context.Context) (scram.Auth, error) {
		p, err := s.Password()
		return scram.Auth{User: s.User, Pass: p}, err
	}
	switch strings.ToUpper(s.Mechanism) {
	case "PLAIN":
		return kgo.SASL(plain.Plain(func(context.Context) (plain.Auth, error) {
			p, err := s.Password()
			return plain.Auth{User: s.User, Pass: p}, err
		})), nil
	case "SCRAM-SHA-256":
		return kgo.SASL(scram.Sha256(scramAuth)), nil
	case "SCRAM-SHA-512":
		return kgo.SASL(scram.Sha512(scramAuth)), nil
	}
	return nil, fmt.Errorf("source: SASL mechanism %q is unknown: use PLAIN, SCRAM-SHA-256, SCRAM-SHA-512 or OAUTHBEARER", s.Mechanism)
}
