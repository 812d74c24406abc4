package daemon

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"log/slog"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kfake"
	"github.com/twmb/franz-go/pkg/kgo"

	"sessionfold/cmd/folder/internal/config"
	"sessionfold/source"
	"sessionfold/testenv"
	"sessionfold/testenv/broker"
	"sessionfold/testenv/certs"
)

// files is a directory whose files are replaced as a rotation does: by renaming.
type files struct {
	*testing.T
	dir string
}

func (f files) put(name string, text []byte) string {
	f.Helper()
	path := filepath.Join(f.dir, name)
	if err := errors.Join(os.WriteFile(path+".new", text, 0o600), os.Rename(path+".new", path)); err != nil {
		f.Fatal(err)
	}
	return path
}

func authority(t *testing.T, name string) *certs.Authority {
	t.Helper()
	a, err := certs.New(name)
	if err != nil {
		t.Fatal(err)
	}
	return a
}

func issue(t *testing.T, a *certs.Authority, name string) (certs.Pair, tls.Certificate) {
	t.Helper()
	p, err := a.Issue(name)
	if err != nil {
		t.Fatal(err)
	}
	c, err := p.TLS()
	if err != nil {
		t.Fatal(err)
	}
	return p, c
}

// connect makes a client with a connection of its own and asks a broker.
func connect(t *testing.T, conn source.Conn, brokers ...string) error {
	t.Helper()
	conn.Brokers = brokers
	opts, err := conn.Options()
	if err != nil {
		t.Fatal(err)
	}
	cl, err := kgo.NewClient(append(opts, kgo.RetryTimeout(5*time.Second), kgo.RequestRetries(1))...)
	if err != nil {
		t.Fatal(err)
	}
	defer cl.Close()
	ctx, cancel := context.WithTimeout(t.Context(), 30*time.Second)
	defer cancel()
	return cl.Ping(ctx)
}

func mustConn(t *testing.T, k config.Kafka, log *slog.Logger) source.Conn {
	t.Helper()
	if k.SASLMechanism == "" {
		k.SASLMechanism = "none"
	}
	conn, err := Conn(&config.Config{Kafka: k}, log)
	if err != nil {
		t.Fatal(err)
	}
	return conn
}

// Every mechanism that kfake has, over TLS, with a password file that changes.
func TestLogins(t *testing.T) {
	ca := authority(t, "ours")
	_, server := issue(t, ca, "broker")
	f := files{t, t.TempDir()}
	opts := []kfake.Opt{kfake.EnableSASL(), kfake.TLS(&tls.Config{Certificates: []tls.Certificate{server}})}
	mechanisms := []string{"PLAIN", "SCRAM-SHA-256", "SCRAM-SHA-512"}
	for _, m := range mechanisms {
		opts = append(opts, kfake.User(m, "me-"+m, "right"))
	}
	b, err := broker.Start(broker.Options{Extra: opts})
	if err != nil {
		t.Fatal(err)
	}
	defer b.Close()
	for _, m := range mechanisms {
		t.Run(m, func(t *testing.T) {
			password := f.put(m, []byte("right\n"))
			conn := mustConn(t, config.Kafka{
				TLS: true, TLSCAFile: f.put("ca", ca.PEM), SASLMechanism: m, SASLUser: "me-" + m, SASLPasswordFile: password,
			}, slog.New(slog.DiscardHandler))
			if err := connect(t, conn, b.Addrs()...); err != nil {
				t.Fatal(err)
			}
			f.put(m, []byte("wrong"))
			if err := connect(t, conn, b.Addrs()...); err == nil {
				t.Error("the file was not read again")
			}
			f.put(m, []byte("right"))
			if err := connect(t, conn, b.Addrs()...); err != nil {
				t.Errorf("the file was not read again: %v", err)
			}
		})
	}
}

// A client certificate and an authority that change count from the next
// connection on; what cannot be used does not.
func TestTLSFilesAreReadAgain(t *testing.T) {
	ca, other := authority(t, "ours"), authority(t, "other")
	_, first := issue(t, ca, "broker")
	_, second := issue(t, other, "broker")
	var server atomic.Pointer[tls.Certificate]
	server.Store(&first)
	var seen atomic.Value
	b, err := broker.Start(broker.Options{Extra: []kfake.Opt{kfake.TLS(&tls.Config{
		ClientAuth: tls.RequireAndVerifyClientCert, ClientCAs: ca.Pool(),
		GetCertificate: func(*tls.ClientHelloInfo) (*tls.Certificate, error) { return server.Load(), nil },
		VerifyPeerCertificate: func(_ [][]byte, chains [][]*x509.Certificate) error {
			seen.Store(chains[0][0].Subject.CommonName)
			return nil
		},
	})}})
	if err != nil {
		t.Fatal(err)
	}
	defer b.Close()
	f := files{t, t.TempDir()}
	one, _ := issue(t, ca, "one")
	two, _ := issue(t, ca, "two")
	log := &lines{}
	conn := mustConn(t, config.Kafka{
		TLS: true, TLSCAFile: f.put("ca", ca.PEM), TLSCertFile: f.put("cert", one.Cert), TLSKeyFile: f.put("key", one.Key),
	}, slog.New(slog.NewTextHandler(log, nil)))
	as := func(name string) {
		t.Helper()
		if err := connect(t, conn, b.Addrs()...); err != nil {
			t.Fatal(err)
		}
		if got := seen.Load(); got != name {
			t.Fatalf("the broker saw %v, want %s", got, name)
		}
	}
	as("one")
	f.put("cert", two.Cert) // its key is not there yet
	as("one")
	as("one")
	if n := strings.Count(log.String(), "TLS files that have changed cannot be used"); n != 1 {
		t.Errorf("it was told %d times:\n%s", n, log)
	}
	f.put("key", two.Key)
	as("two")

	server.Store(&second)
	err = connect(t, conn, b.Addrs()...)
	if hint := source.Hint(err); !strings.Contains(hint, "kafka.tls_ca_file") {
		t.Fatalf("a broker of another authority: %v, hint %q", err, hint)
	}
	f.put("ca", slices.Concat(ca.PEM, other.PEM))
	as("two")
}

// Files that are missing or wrong end the start, with the name of the field.
func TestFilesThatCannotBeUsed(t *testing.T) {
	f := files{t, t.TempDir()}
	for want, k := range map[string]config.Kafka{
		"kafka.tls_ca_file":              {TLS: true, TLSCAFile: f.put("x", []byte("no certificate")), SASLMechanism: "none"},
		"kafka.tls_cert_file":            {TLS: true, TLSCertFile: f.put("y", nil), TLSKeyFile: f.put("z", nil), SASLMechanism: "none"},
		"kafka.sasl_password_file":       {SASLMechanism: "PLAIN", SASLUser: "me", SASLPasswordFile: f.put("empty", []byte("\n"))},
		"kafka.oauth_token_file":         {SASLMechanism: "OAUTHBEARER", OAuthTokenFile: filepath.Join(f.dir, "none")},
		"kafka.oauth_client_secret_file": {SASLMechanism: "OAUTHBEARER", OAuthTokenURL: "https://x", OAuthClientSecretFile: filepath.Join(f.dir, "none")},
	} {
		if _, err := Conn(&config.Config{Kafka: k}, slog.New(slog.DiscardHandler)); err == nil || !strings.HasPrefix(err.Error(), want) {
			t.Errorf("%s: %v", want, err)
		}
	}
}

// A refused login, and a user without grants, come with a hint.
func TestRefusalsHaveHints(t *testing.T) {
	f := files{t, t.TempDir()}
	k := testenv.Fake(t, broker.Options{Extra: []kfake.Opt{kfake.EnableSASL(), kfake.EnableACLs(), kfake.Superuser("PLAIN", "root", "r"), kfake.User("PLAIN", "me", "right")}})
	conn := mustConn(t, config.Kafka{SASLMechanism: "PLAIN", SASLUser: "me", SASLPasswordFile: f.put("p", []byte("right"))}, slog.New(slog.DiscardHandler))
	conn.Brokers = k.Addrs
	ctx, cancel := context.WithTimeout(t.Context(), 30*time.Second)
	defer cancel()
	_, err := source.LeaveGroup(ctx, conn, "g", "i")
	if !strings.Contains(source.Hint(err), "READ on the group") {
		t.Errorf("%v: hint %q", err, source.Hint(err))
	}
	log := &lines{}
	slog.New(Hinting(slog.NewTextHandler(log, nil))).With("a", 1).Warn("refused", "err", err)
	if !strings.Contains(log.String(), "hint=\"grant READ on the group") {
		t.Errorf("the log has no hint: %s", log)
	}
}
