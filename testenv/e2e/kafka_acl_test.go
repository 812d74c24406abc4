package e2e

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"sessionfold/testenv"
	"sessionfold/testenv/folder"
	"sessionfold/testenv/kafka"
)

// secureNode is a broker with StandardAuthorizer and a rig on its open listener.
func secureNode(t *testing.T) (*kafka.Secure, *rig) {
	t.Helper()
	if testing.Short() {
		t.Skip("a JVM")
	}
	kafka.Need(t)
	ctx, cancel := context.WithTimeout(t.Context(), 5*time.Minute)
	defer cancel()
	node, err := kafka.Secured(ctx, t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(node.Close)
	return node, newRigOn(t, testenv.At(t, node.Addr))
}

// login makes a worker, or a command, use the listener that asks for a login.
func login(t *testing.T, node *kafka.Secure, mechanism, user, secret string) []string {
	t.Helper()
	file := filepath.Join(t.TempDir(), "secret")
	if err := os.WriteFile(file, []byte(secret), 0o600); err != nil {
		t.Fatal(err)
	}
	env := []string{"FOLDER_KAFKA_BROKERS=" + node.SASL, "FOLDER_KAFKA_TLS=true", "FOLDER_KAFKA_TLS_CA_FILE=" + node.CA, "FOLDER_KAFKA_SASL_MECHANISM=" + mechanism}
	if mechanism == "OAUTHBEARER" {
		return append(env, "FOLDER_KAFKA_OAUTH_TOKEN_FILE="+file)
	}
	return append(env, "FOLDER_KAFKA_SASL_USER="+user, "FOLDER_KAFKA_SASL_PASSWORD_FILE="+file)
}

// says waits until a worker's log matches.
func says(t *testing.T, w *folder.Worker, want *regexp.Regexp) {
	t.Helper()
	testenv.Eventually(t, 2*time.Minute, func() error {
		if want.MatchString(w.Log()) {
			return nil
		}
		return fmt.Errorf("the log does not say %s:\n%s", want, w.Log())
	})
}

// hints of the kinds of resources, as the log of a worker shows them.
var hints = map[string]*regexp.Regexp{
	"topic":            regexp.MustCompile(`hint="grant READ on topics that are folded|grant (READ|WRITE) on the (source )?topic`),
	"group":            regexp.MustCompile(`grant READ on the group`),
	"transactional id": regexp.MustCompile(`grant WRITE (and DESCRIBE )?on the transactional id`),
}

// With exactly the documented grants a worker folds everything; without any one
// of them it says which kind is missing, `folder topics check` names it, and the
// worker goes on when it is granted.
func TestKafkaACLs(t *testing.T) {
	node, r := secureNode(t)
	ctx, cancel := context.WithTimeout(t.Context(), 15*time.Minute)
	defer cancel()
	const user, password = "worker", "worker-secret"
	if err := node.AddUser(ctx, user, password); err != nil {
		t.Fatal(err)
	}
	if out, err := r.cli("topics", "create", "--config", r.worker.Config(), "--output.replication_factor=1"); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	grants, err := kafka.Documented(r.stream, r.stream)
	if err != nil {
		t.Fatal(err)
	}
	if err := node.Allow(ctx, user, grants...); err != nil {
		t.Fatal(err)
	}
	env := append(login(t, node, "SCRAM-SHA-512", user, password), "FOLDER_OUTPUT_CREATE_TOPICS=false", "FOLDER_KAFKA_SESSION_TIMEOUT=6s")
	r.worker.Env = env
	r.write(r.generated(11, 20)...)
	r.start()
	r.await(2 * time.Minute)
	r.stop()
	if out, err := r.cliEnv(env, "topics", "check", "--config", r.worker.Config()); err != nil {
		t.Errorf("with all grants: %v\n%s", err, out)
	}
	for i, g := range grants {
		if err := node.Forbid(ctx, user, g); err != nil {
			t.Fatal(err)
		}
		out, err := r.cliEnv(env, "topics", "check", "--config", r.worker.Config())
		if err == nil || !regexp.MustCompile(`(?m)^wrong +`+g.Resource+` `+regexp.QuoteMeta(g.Name)).MatchString(out) || !strings.Contains(out, "hint: grant "+g.Op) {
			t.Errorf("folder topics check without %s: %v\n%s", g, err, out)
		}
		r.worker = r.another(fmt.Sprintf("without-%d", i))
		r.worker.Env = append(env, "FOLDER_KAFKA_LEAVE_ON_STOP=true")
		r.write(r.generated(uint64(20+i), 3)...) // something to fold and to commit
		r.start()
		says(t, r.worker, hints[g.Resource])
		if err := node.Allow(ctx, user, g); err != nil {
			t.Fatal(err)
		}
		r.await(3 * time.Minute)
		r.stop()
		t.Logf("without %s: told, and healed", g)
	}
}

// Every mechanism logs in at a real broker; a wrong secret is told with a hint.
func TestKafkaLogins(t *testing.T) {
	node, r := secureNode(t)
	ctx, cancel := context.WithTimeout(t.Context(), 5*time.Minute)
	defer cancel()
	if err := node.AddUser(ctx, "scram", "scram-secret"); err != nil {
		t.Fatal(err)
	}
	// Without a grant the check finds much, but it has logged in.
	in := func(out string) bool { return strings.Contains(out, "group "+r.stream+" is not open to this user") }
	for _, c := range []struct{ mechanism, user, right, wrong string }{
		{"PLAIN", kafka.PlainUser, kafka.PlainPassword, "x"},
		{"SCRAM-SHA-256", "scram", "scram-secret", "x"},
		{"SCRAM-SHA-512", "scram", "scram-secret", "x"},
		{"OAUTHBEARER", "", kafka.Token("bearer", time.Hour), kafka.Token("bearer", -time.Hour)},
	} {
		if out, err := r.cliEnv(login(t, node, c.mechanism, c.user, c.right), "topics", "check", "--config", r.worker.Config()); err == nil || !in(out) {
			t.Errorf("%s: %v\n%s", c.mechanism, err, out)
		}
		out, err := r.cliEnv(login(t, node, c.mechanism, c.user, c.wrong), "topics", "check", "--config", r.worker.Config(), "--within=30s")
		if err == nil || in(out) || !strings.Contains(out, "hint: the brokers refuse the login") {
			t.Errorf("%s with a wrong secret: %v\n%s", c.mechanism, err, out)
		}
		if strings.Contains(out, c.right) || c.wrong != "x" && strings.Contains(out, c.wrong) {
			t.Errorf("%s: a secret is shown:\n%s", c.mechanism, out)
		}
	}
	// A certificate of the authority is a login too.
	dir := t.TempDir()
	cert, key := filepath.Join(dir, "cert"), filepath.Join(dir, "key")
	if err := errors.Join(os.WriteFile(cert, node.Client.Cert, 0o600), os.WriteFile(key, node.Client.Key, 0o600)); err != nil {
		t.Fatal(err)
	}
	env := []string{"FOLDER_KAFKA_BROKERS=" + node.MTLS, "FOLDER_KAFKA_TLS=true", "FOLDER_KAFKA_TLS_CA_FILE=" + node.CA}
	if out, err := r.cliEnv(append(env, "FOLDER_KAFKA_TLS_CERT_FILE="+cert, "FOLDER_KAFKA_TLS_KEY_FILE="+key), "topics", "check", "--config", r.worker.Config()); err == nil || !in(out) {
		t.Errorf("mTLS: %v\n%s", err, out)
	}
	if out, err := r.cliEnv(env, "topics", "check", "--config", r.worker.Config(), "--within=15s"); err == nil || in(out) || !strings.Contains(out, "kafka.tls_cert_file") {
		t.Errorf("mTLS without a certificate: %v\n%s", err, out)
	}
}
