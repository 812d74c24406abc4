package config

import "time"

// Config is everything that can be configured. Tags: koanf is the key, default
// the text of the default, one the allowed words, doc one sentence for people.
// A field of type Secret is never printed.
type Config struct {
	Kafka   Kafka    `koanf:"kafka" doc:"The brokers and how this process appears to them."`
	Streams []Stream `koanf:"streams" doc:"The streams to fold. Nothing crosses streams."`
	Store   Store    `koanf:"store" doc:"The local copy of the index. It is rebuilt from Kafka when lost."`
	Output  Output   `koanf:"output" doc:"What is written to Kafka beside the offsets."`
	HTTP    HTTP     `koanf:"http" doc:"The reads."`
	Admin   Admin    `koanf:"admin" doc:"Health and metrics, on a listener of their own."`
	Commit  Commit   `koanf:"commit" doc:"When a batch of folded records becomes durable."`
	Log     Log      `koanf:"log" doc:"Logs go to standard error and never hold payloads."`
}

// Kafka is the section kafka.
type Kafka struct {
	Brokers        []string      `koanf:"brokers" default:"localhost:9092" doc:"Bootstrap addresses, host:port."`
	Group          string        `koanf:"group" default:"sessionfold" doc:"Consumer group. Workers of one group share the partitions; it also names the changelog topics and the transactional id."`
	Instance       string        `koanf:"instance" default:"" doc:"Stable name of this worker in its group, for example the pod's: a restart keeps its partitions. Empty: the host's name."`
	ClientID       string        `koanf:"client_id" default:"sessionfold" doc:"Client id shown by the brokers."`
	SessionTimeout time.Duration `koanf:"session_timeout" default:"45s" doc:"How long the group waits for a silent member. 120s suits static members."`
	LeaveOnStop    bool          `koanf:"leave_on_stop" default:"false" doc:"A static member leaves the group when it stops, so that others take over at once."`

	TLS           bool   `koanf:"tls" default:"false" doc:"Talk TLS to the brokers."`
	TLSCAFile     string `koanf:"tls_ca_file" default:"" doc:"PEM file of the authorities to trust, read again for each connection. Empty: the system's."`
	TLSCertFile   string `koanf:"tls_cert_file" default:"" doc:"PEM file of the client certificate (mTLS), read again for each connection."`
	TLSKeyFile    string `koanf:"tls_key_file" default:"" doc:"PEM file of its key."`
	TLSServerName string `koanf:"tls_server_name" default:"" doc:"Name to expect in the brokers' certificates. Empty: the host's."`

	SASLMechanism    string `koanf:"sasl_mechanism" default:"none" one:"none PLAIN SCRAM-SHA-256 SCRAM-SHA-512 OAUTHBEARER" doc:"How to log in."`
	SASLUser         string `koanf:"sasl_user" default:"" doc:"User to log in as, with PLAIN and SCRAM."`
	SASLPassword     Secret `koanf:"sasl_password" default:"" doc:"Password; a file is the better place."`
	SASLPasswordFile string `koanf:"sasl_password_file" default:"" doc:"File with the password, read again at each login."`

	OAuthTokenFile        string `koanf:"oauth_token_file" default:"" doc:"With OAUTHBEARER: file with the token, read again at each login, for example one that Kubernetes projects and renews."`
	OAuthTokenURL         string `koanf:"oauth_token_url" default:"" doc:"With OAUTHBEARER and no token file: where to get tokens by client credentials, https."`
	OAuthClientID         string `koanf:"oauth_client_id" default:"" doc:"Client id for the token URL."`
	OAuthClientSecretFile string `koanf:"oauth_client_secret_file" default:"" doc:"File with the client's secret, read again for each token."`
	OAuthScope            string `koanf:"oauth_scope" default:"" doc:"Scope to ask the token URL for. Empty: none."`
}

// Stream is one element of streams.
type Stream struct {
	Name        string        `koanf:"name" default:"" doc:"Name. An agdx stream S reads the topics S.agent.*."`
	Dialect     string        `koanf:"dialect" default:"agdx" one:"agdx deepstrike everruns auto" doc:"Language of the records; auto lets the first records of each topic tell it."`
	Inboxes     []string      `koanf:"inboxes" default:"" doc:"Topics of addressed work (role work), agdx only."`
	Topics      []string      `koanf:"topics" default:"" doc:"Lane topics of another dialect than agdx, or of auto; an agdx stream derives its own."`
	TimelineCap uint64        `koanf:"timeline_cap" default:"10000" doc:"Timeline rows kept per session and source; more are counted only."`
	IdleTimeout time.Duration `koanf:"idle_timeout" default:"300s" doc:"Silence after which an active session shows idle, when its start names no timeout."`
	Previews    bool          `koanf:"previews" default:"false" doc:"Keep previews that are content by nature."`
	KeysFile    string        `koanf:"keys_file" default:"" doc:"File of public keys and whose they are: rows of records that one of them signed name its principal (agdx only). Looked at every second. Empty: no key is known."`
}

// Store is the section store.
type Store struct {
	Dir   string `koanf:"dir" default:"" doc:"Directory of the store. One process per directory."`
	Cache Size   `koanf:"cache" default:"160MiB" doc:"Memory for blocks and memory tables together."`
}

// Output is the section output.
type Output struct {
	Changes           string `koanf:"changes" default:"" doc:"Topic of the change rows. Empty: the group and \"-changes\"."`
	Summaries         bool   `koanf:"summaries" default:"false" doc:"Put each source's view of the changed sessions into the rows."`
	ReplicationFactor int64  `koanf:"replication_factor" default:"-1" doc:"Of topics that this program creates; -1 is the broker's default."`
	CreateTopics      bool   `koanf:"create_topics" default:"true" doc:"Create the changes and changelog topics when they are missing. Either way they are checked."`
}

// HTTP is the section http.
type HTTP struct {
	Listen         string `koanf:"listen" default:"127.0.0.1:8080" doc:"Address of the reads."`
	Prefix         string `koanf:"prefix" default:"/agdx" doc:"Path before every route."`
	TokensFile     string `koanf:"tokens_file" default:"" doc:"File of bearer token hashes and what they may read."`
	InsecureNoAuth bool   `koanf:"insecure_no_auth" default:"false" doc:"Serve everybody who reaches a listener that is not on loopback."`

	Peers          []string      `koanf:"peers" default:"" doc:"Where the other workers of the group serve their reads, to ask them for what this one does not own: base URLs without the prefix, which is the same everywhere; dns+http://name:port stands for all addresses of the name. A worker may be in its own list. Empty: reads of a stream that is not whole here are refused."`
	PeersTimeout   time.Duration `koanf:"peers_timeout" default:"2s" doc:"Longest time that another worker may take to answer; then the read is refused."`
	PeersTokenFile string        `koanf:"peers_token_file" default:"" doc:"File with the bearer token that the other workers want to see; its hash stands in their http.tokens_file, with session:read on the streams."`
}

// Admin is the section admin.
type Admin struct {
	Listen  string `koanf:"listen" default:"127.0.0.1:9090" doc:"Address of /livez, /readyz, /startupz and /metrics."`
	Control bool   `koanf:"control" default:"false" doc:"Serve /drain, /rebuild and /dump not only to requests from loopback: whoever reaches the listener may end the work, begin sources anew and read every summary."`
	Pprof   bool   `koanf:"pprof" default:"false" doc:"Serve /debug/pprof also when the listener is not on loopback."`
}

// Commit is the section commit.
type Commit struct {
	Interval   time.Duration `koanf:"interval" default:"100ms" doc:"Longest time that folded records wait for their commit."`
	MaxRecords int64         `koanf:"max_records" default:"100000" doc:"Most records in one commit."`
	MaxBytes   Size          `koanf:"max_bytes" default:"64MiB" doc:"Most bytes of keys and values in one commit."`
}

// Log is the section log.
type Log struct {
	Level  string `koanf:"level" default:"info" one:"debug info warn error" doc:"Least level shown."`
	Format string `koanf:"format" default:"auto" one:"auto text json" doc:"auto is text on a terminal and JSON elsewhere."`
}

// ChangesTopic is the topic of the change rows.
func (c *Config) ChangesTopic() string {
	if c.Output.Changes != "" {
		return c.Output.Changes
	}
	return c.Kafka.Group + "-changes"
}
