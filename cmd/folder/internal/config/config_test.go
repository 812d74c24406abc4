package config

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

func write(t *testing.T, text string) string {
	t.Helper()
	p := filepath.Join(t.TempDir(), "folder.yaml")
	if err := os.WriteFile(p, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	return p
}

const small = "streams:\n  - name: agents\nstore: {dir: /tmp/x}\n"

func TestPrecedence(t *testing.T) {
	file := write(t, small+"kafka:\n  group: from-file\n  client_id: from-file\n  instance: from-file\n")
	l, err := Load(Input{
		File:  file,
		Env:   []string{"FOLDER_KAFKA_CLIENT_ID=from-env", "FOLDER_KAFKA_INSTANCE=from-env", "PATH=/bin"},
		Flags: map[string]string{"kafka.instance": "from-flag"},
	})
	if err != nil {
		t.Fatal(err)
	}
	k := l.Kafka
	got := []string{k.Brokers[0], k.Group, k.ClientID, k.Instance, l.Origin("kafka.brokers"), l.Origin("kafka.group"), l.Origin("kafka.client_id"), l.Origin("kafka.instance")}
	want := []string{"localhost:9092", "from-file", "from-env", "from-flag", "default", file + ":5", "FOLDER_KAFKA_CLIENT_ID", "--kafka.instance"}
	if d := cmp.Diff(want, got); d != "" {
		t.Error(d)
	}
}

func TestTypesFromFileAndText(t *testing.T) {
	body := "commit: {interval: 250ms, max_records: 5}\nstore: {dir: d, cache: 1GiB}\noutput: {summaries: true}\nkafka: {brokers: [a:1, b:2]}\nstreams: [{name: x, timeline_cap: 7, idle_timeout: 7m, inboxes: [in1]}]\n"
	fromFile, err := Load(Input{File: write(t, body)})
	if err != nil {
		t.Fatal(err)
	}
	fromText, err := Load(Input{Env: []string{
		"FOLDER_COMMIT_INTERVAL=250ms", "FOLDER_COMMIT_MAX_RECORDS=5", "FOLDER_STORE_DIR=d", "FOLDER_STORE_CACHE=1GiB", "FOLDER_OUTPUT_SUMMARIES=true",
		"FOLDER_KAFKA_BROKERS=a:1, b:2", "FOLDER_STREAMS=[{name: x, timeline_cap: 7, idle_timeout: 7m, inboxes: [in1]}]",
	}})
	if err != nil {
		t.Fatal(err)
	}
	if d := cmp.Diff(fromFile.Config, fromText.Config); d != "" {
		t.Error(d)
	}
	fromBlock, err := Load(Input{Env: []string{"FOLDER_STORE_DIR=d", "FOLDER_STREAMS=\n- name: x\n  timeline_cap: 7\n- {name: y,\n   dialect: deepstrike, topics: [t]}\n"}})
	if err != nil {
		t.Fatal(err)
	}
	if s := fromBlock.Streams; len(s) != 2 || s[0].Name != "x" || s[0].TimelineCap != 7 || s[1].Dialect != "deepstrike" {
		t.Errorf("streams of a variable with a block of YAML: %+v", s)
	}
	s := fromFile.Streams[0]
	if fromFile.Store.Cache != 1<<30 || s.TimelineCap != 7 || s.IdleTimeout != 7*time.Minute || s.Dialect != "agdx" || fromFile.Commit.Interval != 250*time.Millisecond {
		t.Errorf("%+v", fromFile.Config)
	}
}

// Every problem of a kind, each in a file of its own: the message names the
// field, the line and the way out.
func TestMessages(t *testing.T) {
	for _, c := range []struct {
		name, file string
		want       []string
	}{
		{"unknown key", small + "kafka:\n  borkers: [a:1]\n", []string{"kafka.borkers", ":5)", "did you mean kafka.brokers?"}},
		{"unknown section", small + "kafak: {}\n", []string{"kafak", "did you mean kafka?"}},
		{"unknown in list", "streams:\n  - name: a\n    dialetc: agdx\n", []string{"streams[0].dialetc", ":3)", "did you mean streams[0].dialect?"}},
		{"far from all", small + "kafka: {zzzzzzzzzzzz: 1}\n", []string{"known keys: brokers, group"}},
		{"bad duration", small + "commit: {interval: soon}\n", []string{"commit.interval", `"soon" is no duration`}},
		{"bad word", "streams: [{name: a, dialect: latin}]\n", []string{"streams[0].dialect", "none of agdx, deepstrike, everruns, auto"}},
		{"bad size", small + "", nil},
		{"list as scalar", small + "kafka: {brokers: a:1}\n", []string{"kafka.brokers", "is no list"}},
		{"scalar as mapping", small + "log: {level: {a: b}}\n", []string{"log.level", "is no single value"}},
		{"section as text", small + "log: loud\n", []string{"log", "is no mapping"}},
		{"no yaml", "a: [", []string{"is no YAML"}},
		{"key twice", small + "log: {level: info}\nlog: {level: warn}\n", []string{"already defined"}},
		{"second document", small + "---\na: 1\n", []string{"second document"}},
		{"no streams", "store: {dir: d}\n", []string{"streams", "nothing to fold"}},
		{"same stream", "store: {dir: d}\nstreams: [{name: a}, {name: a}]\n", []string{"streams[1].name", "another stream has this name"}},
		{"foreign without topics", "store: {dir: d}\nstreams: [{name: a, dialect: everruns}]\n", []string{"streams[0].topics", "needs topics"}},
		{"topic of two streams", "store: {dir: d}\nstreams: [{name: a}, {name: b, inboxes: [a.agent.control]}]\n", []string{"streams[1].inboxes", `already belongs to stream "a"`}},
		{"own output", small + "output: {changes: agents.agent.memory}\n", []string{"output.changes", "fold its own output"}},
		{"open listener", small + "http: {listen: ':8080'}\n", []string{"http.listen", "nothing guards it"}},
		{"same port", small + "admin: {listen: '127.0.0.1:8080'}\n", []string{"admin.listen", "is the address of http.listen"}},
		{"peer without scheme", small + "http: {peers: [\"worker-1:8080\"]}\n", []string{"http.peers", "worker-1:8080", "dns+http://"}},
		{"peers and tokens", small + "http: {peers: [\"http://w:1\"], tokens_file: /dev/null}\n", []string{"http.peers_token_file", "none for the others"}},
		{"peers' token", small + "http: {peers: [\"http://w:1\"], peers_token_file: /does/not/exist}\n", []string{"http.peers_token_file", "no such file"}},
		{"token for nobody", small + "http: {peers_token_file: /dev/null}\n", []string{"http.peers_token_file", "nobody to show"}},
		{"peers' time", small + "http: {peers_timeout: 1h}\n", []string{"http.peers_timeout", "out of range"}},
		{"tokens", small + "http: {tokens_file: /does/not/exist}\n", []string{"http.tokens_file", "no such file"}},
		{"no keys file", "store: {dir: d}\nstreams: [{name: a, keys_file: /does/not/exist}]\n", []string{"streams[0].keys_file", "no such file", "then whose it is"}},
		{"keys file without keys", "store: {dir: d}\nstreams: [{name: a, keys_file: /dev/null}]\n", []string{"streams[0].keys_file (", "/dev/null", "holds no key"}},
		{"keys of a foreign stream", "store: {dir: d}\nstreams: [{name: a, dialect: everruns, topics: [t], keys_file: /dev/null}]\n", []string{"streams[0].keys_file", "carry no signatures"}},
		{"login without mechanism", small + "kafka: {sasl_user: me}\n", []string{"kafka.sasl_mechanism", "no mechanism"}},
		{"no password", small + "kafka: {sasl_mechanism: PLAIN, sasl_user: me}\n", []string{"kafka.sasl_password_file", "not at all"}},
		{"token without mechanism", small + "kafka: {oauth_token_file: /nope}\n", []string{"kafka.sasl_mechanism", "no mechanism"}},
		{"token for a password", small + "kafka: {sasl_mechanism: SCRAM-SHA-512, sasl_user: me, sasl_password: x, oauth_scope: a}\n", []string{"SCRAM-SHA-512 takes no token"}},
		{"password for a token", small + "kafka: {sasl_mechanism: OAUTHBEARER, sasl_user: me, oauth_token_file: /nope}\n", []string{"takes no user", "kafka.oauth_token_file", "no such file"}},
		{"two tokens", small + "kafka: {sasl_mechanism: OAUTHBEARER, oauth_token_file: /nope, oauth_token_url: https://x}\n", []string{"twice or not at all", "needs a client and its secret"}},
		{"no token", small + "kafka: {sasl_mechanism: OAUTHBEARER, oauth_client_id: me}\n", []string{"twice or not at all", "no effect without it"}},
		{"token in the clear", small + "kafka: {sasl_mechanism: OAUTHBEARER, oauth_token_url: 'http://id.example/t', oauth_client_id: me, oauth_client_secret_file: /nope}\n", []string{"in the clear", "no such file"}},
		{"key without tls", small + "kafka: {tls_key_file: /nope}\n", []string{"kafka.tls_key_file", "no effect without TLS", "go together", "no such file"}},
		{"everything at once", "kafka: {brokers: [nohost], group: 'a b'}\n", []string{"4 problems", "kafka.brokers", "kafka.group", "streams", "store.dir"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			_, err := Load(Input{File: write(t, c.file)})
			if c.want == nil {
				if err != nil {
					t.Fatal(err)
				}
				return
			}
			if err == nil {
				t.Fatal("accepted")
			}
			for _, w := range c.want {
				if !strings.Contains(err.Error(), w) {
					t.Errorf("message lacks %q:\n%s", w, err)
				}
			}
		})
	}
}

func TestVariablesThatLookLikeASlip(t *testing.T) {
	l, err := Read(Input{Env: []string{"FOLDER_KAFKA_GRUOP=x", "FOLDER_SERVICE_HOST=10.0.0.1", "FOLDER_TOKEN=t"}})
	if err != nil {
		t.Fatal(err)
	}
	if d := cmp.Diff([]string{"FOLDER_KAFKA_GRUOP is not read; did you mean FOLDER_KAFKA_GROUP?"}, l.Warnings); d != "" {
		t.Error(d)
	}
}

// What print writes reads back as the same configuration.
func TestPrintReadsBack(t *testing.T) {
	l, err := Load(Input{File: write(t, small+"kafka: {group: 'true', instance: '0x1f', brokers: ['[::1]:9092']}\noutput: {changes: 9.9}\n")})
	if err != nil {
		t.Fatal(err)
	}
	again, err := Load(Input{File: write(t, l.YAML())})
	if err != nil {
		t.Fatalf("%v\n%s", err, l.YAML())
	}
	if d := cmp.Diff(l.Config, again.Config); d != "" {
		t.Error(d)
	}
}

func TestDocsAreCurrent(t *testing.T) {
	text, err := os.ReadFile("../../../../docs/configuration.md")
	if err != nil {
		t.Fatal(err)
	}
	if d := cmp.Diff(Docs(), string(text)); d != "" {
		t.Errorf("docs/configuration.md is not current, run make generate (-want +got):\n%s", d)
	}
}

// A secret never reaches the printed configuration, wherever it came from.
func TestPrintHidesSecrets(t *testing.T) {
	for _, in := range []Input{
		{File: write(t, "kafka: {sasl_password: hunter2}\n")},
		{Env: []string{"FOLDER_KAFKA_SASL_PASSWORD=hunter2"}},
		{Flags: map[string]string{"kafka.sasl_password": "hunter2"}},
	} {
		l, err := Read(in)
		if err != nil {
			t.Fatal(err)
		}
		if out := l.YAML(); strings.Contains(out, "hunter2") || !strings.Contains(out, "sasl_password: <redacted>") {
			t.Errorf("printed:\n%s", out)
		}
	}
}

func FuzzYAML(f *testing.F) {
	f.Add([]byte(small))
	f.Add([]byte("streams: [*a]\nkafka: &a {<<: *a}\n"))
	f.Add([]byte("? [a]\n: b\n"))
	f.Fuzz(func(t *testing.T, text []byte) {
		readYAML("f", text) // must not panic
	})
}
