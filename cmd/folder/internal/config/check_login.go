package config

import (
	"net/url"
	"strings"
)

// login checks the fields of SASL against each other: each mechanism has its
// own, and those of another one would silently have no effect.
func (c *checker) login() {
	k := &c.Kafka
	password := k.SASLUser != "" || k.SASLPassword != "" || k.SASLPasswordFile != ""
	oauth := k.OAuthTokenFile != "" || k.OAuthTokenURL != "" || k.OAuthClientID != "" || k.OAuthClientSecretFile != "" || k.OAuthScope != ""
	switch k.SASLMechanism {
	case "none":
		if password || oauth {
			c.fail("kafka.sasl_mechanism", "for example SCRAM-SHA-512", "a user, password or token is set, but no mechanism")
		}
	case "OAUTHBEARER":
		if password {
			c.fail("kafka.sasl_mechanism", "remove sasl_user, sasl_password and sasl_password_file", "OAUTHBEARER takes no user and no password")
		}
		c.token()
	default:
		if oauth {
			c.fail("kafka.sasl_mechanism", "use OAUTHBEARER, or remove what begins with oauth_", "%s takes no token", k.SASLMechanism)
		}
		c.password()
	}
	if k.SASLMechanism != "none" && k.SASLMechanism != "SCRAM-SHA-256" && k.SASLMechanism != "SCRAM-SHA-512" && !k.TLS {
		c.Warnings = append(c.Warnings, "kafka.sasl_mechanism "+k.SASLMechanism+" without kafka.tls sends the password or token in the clear")
	}
}

func (c *checker) password() {
	k := &c.Kafka
	if k.SASLUser == "" {
		c.fail("kafka.sasl_user", "", "is empty, but a mechanism is set")
	}
	if (k.SASLPassword == "") == (k.SASLPasswordFile == "") {
		c.fail("kafka.sasl_password_file", "give exactly one of sasl_password_file and sasl_password", "the password is given twice or not at all")
	}
	if k.SASLPasswordFile != "" {
		c.readable("kafka.sasl_password_file", k.SASLPasswordFile)
	}
}

// token checks that a token comes from one place: a file, or a URL with the
// client's credentials.
func (c *checker) token() {
	k := &c.Kafka
	if (k.OAuthTokenFile == "") == (k.OAuthTokenURL == "") {
		c.fail("kafka.oauth_token_file", "give exactly one of oauth_token_file and oauth_token_url", "the token's origin is given twice or not at all")
	}
	if k.OAuthTokenFile != "" {
		c.readable("kafka.oauth_token_file", k.OAuthTokenFile)
	}
	if k.OAuthTokenURL == "" {
		if k.OAuthClientID != "" || k.OAuthClientSecretFile != "" || k.OAuthScope != "" {
			c.fail("kafka.oauth_token_url", "give the URL, or remove them", "client credentials and scope have no effect without it")
		}
		return
	}
	u, err := url.Parse(k.OAuthTokenURL)
	switch {
	case err != nil || u.Host == "" || u.Scheme != "https" && u.Scheme != "http":
		c.fail("kafka.oauth_token_url", "for example https://id.example/oauth2/token", "is no URL of HTTP")
	case u.User != nil:
		c.fail("kafka.oauth_token_url", "use oauth_client_id and oauth_client_secret_file", "holds credentials")
	case u.Scheme == "http" && !loopback(strings.TrimSpace(u.Hostname())):
		c.fail("kafka.oauth_token_url", "use https", "would send the client's secret in the clear")
	}
	if k.OAuthClientID == "" || k.OAuthClientSecretFile == "" {
		c.fail("kafka.oauth_client_id", "give oauth_client_id and oauth_client_secret_file", "the token URL needs a client and its secret")
	}
	if k.OAuthClientSecretFile != "" {
		c.readable("kafka.oauth_client_secret_file", k.OAuthClientSecretFile)
	}
}
