package kafka

import (
	"context"
	"encoding/base64"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"time"

	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kgo"

	"sessionfold/testenv/certs"
)

// Secure is a node whose clients need TLS, a login and ACLs. At Addr is a listener
// without any of it, whose clients may do everything: a test's own.
type Secure struct {
	Addr   string     // host:port of the open listener
	SASL   string     // of the one that asks for TLS and a login
	MTLS   string     // of the one that asks for a certificate of the authority
	CA     string     // PEM file of the authority of both
	Client certs.Pair // that it signed
	node   *Node      // nil: somebody else's process
}

// Admin is a user that may do everything, once AddUser has made it.
const Admin = "admin"

// PlainUser is the one user of SASL PLAIN, with its password. SCRAM users are
// made with AddUser; of OAUTHBEARER every Token is good.
const PlainUser, PlainPassword = "plain", "plain-secret"

// StartSecure starts a combined node with StandardAuthorizer, where nobody may do
// anything without an ACL.
func StartSecure(ctx context.Context, dir string, extra ...string) (*Secure, error) {
	s := &Secure{CA: filepath.Join(dir, "ca.pem")}
	auth, err := certs.New("test authority")
	if err != nil {
		return nil, err
	}
	pair, err := auth.Issue("broker")
	if err != nil {
		return nil, err
	}
	if s.Client, err = auth.Issue("client"); err != nil {
		return nil, err
	}
	store := filepath.Join(dir, "broker.pem")
	for file, text := range map[string][]byte{s.CA: auth.PEM, store: slices.Concat(pair.Key, pair.Cert)} {
		if err := os.WriteFile(file, text, 0o600); err != nil {
			return nil, fmt.Errorf("kafka: %w", err)
		}
	}
	const modules = "org.apache.kafka.common.security."
	n, addrs, err := start(ctx, dir, []string{"SECURE:SASL_SSL", "MUTUAL:SSL"}, append([]string{
		"authorizer.class.name=org.apache.kafka.metadata.authorizer.StandardAuthorizer",
		"super.users=User:ANONYMOUS;User:" + Admin, // anonymous: the listener without a login, and the controller's
		"ssl.keystore.type=PEM", "ssl.keystore.location=" + store,
		"ssl.truststore.type=PEM", "ssl.truststore.location=" + s.CA,
		"listener.name.mutual.ssl.client.auth=required",
		"listener.name.secure.sasl.enabled.mechanisms=PLAIN,SCRAM-SHA-256,SCRAM-SHA-512,OAUTHBEARER",
		"listener.name.secure.plain.sasl.jaas.config=" + modules + `plain.PlainLoginModule required user_` + PlainUser + `="` + PlainPassword + `";`,
		"listener.name.secure.scram-sha-256.sasl.jaas.config=" + modules + "scram.ScramLoginModule required;",
		"listener.name.secure.scram-sha-512.sasl.jaas.config=" + modules + "scram.ScramLoginModule required;",
		"listener.name.secure.oauthbearer.sasl.jaas.config=" + modules + `oauthbearer.OAuthBearerLoginModule required unsecuredLoginStringClaim_sub="broker";`,
	}, extra...))
	if err != nil {
		return nil, err
	}
	s.node, s.Addr, s.SASL, s.MTLS = n, n.Addr, addrs[0], addrs[1]
	return s, nil
}

// Token is an unsigned bearer token (RFC 7519, 6) of a user, which the broker
// takes as the tests' configuration has it.
func Token(user string, lasts time.Duration) string {
	now, b64 := time.Now(), base64.RawURLEncoding
	return b64.EncodeToString([]byte(`{"alg":"none"}`)) + "." +
		b64.EncodeToString(fmt.Appendf(nil, `{"sub":%q,"iat":%d,"exp":%d}`, user, now.Add(-time.Minute).Unix(), now.Add(lasts).Unix())) + "."
}

// admin is a client that may do everything.
func (s *Secure) admin(f func(*kadm.Client) error) error {
	cl, err := kgo.NewClient(kgo.SeedBrokers(s.Addr))
	if err != nil {
		return fmt.Errorf("kafka: %w", err)
	}
	defer cl.Close()
	return f(kadm.NewClient(cl))
}

// AddUser makes or changes a SCRAM user, for both mechanisms.
func (s *Secure) AddUser(ctx context.Context, user, password string) error {
	return s.admin(func(adm *kadm.Client) error {
		for _, m := range []kadm.ScramMechanism{kadm.ScramSha256, kadm.ScramSha512} { // a request may name a user once
			res, err := adm.AlterUserSCRAMs(ctx, nil, []kadm.UpsertSCRAM{{User: user, Mechanism: m, Iterations: 4096, Password: password}})
			if err == nil {
				err = res.Error()
			}
			if err != nil {
				return fmt.Errorf("kafka: SCRAM user %s: %w", user, err)
			}
		}
		return nil
	})
}

// Allow gives a user rights.
func (s *Secure) Allow(ctx context.Context, user string, gs ...Grant) error {
	return s.admin(func(adm *kadm.Client) error {
		for _, g := range gs {
			b, err := g.ACL(user)
			if err != nil {
				return err
			}
			res, err := adm.CreateACLs(ctx, b)
			for _, r := range res {
				err = errors.Join(err, r.Err)
			}
			if err != nil {
				return fmt.Errorf("kafka: grant %s: %w", g, err)
			}
		}
		return nil
	})
}

// Forbid takes a right back.
func (s *Secure) Forbid(ctx context.Context, user string, g Grant) error {
	return s.admin(func(adm *kadm.Client) error {
		b, err := g.ACL(user)
		if err != nil {
			return err
		}
		res, err := adm.DeleteACLs(ctx, b)
		n := 0
		for _, r := range res {
			err = errors.Join(err, r.Err)
			n += len(r.Deleted)
		}
		if err == nil && n == 0 {
			err = errors.New("nothing was granted")
		}
		if err != nil {
			return fmt.Errorf("kafka: take back %s: %w", g, err)
		}
		return nil
	})
}
