package daemon

import (
	"fmt"
	"log/slog"
	"os"
	"strings"

	"sessionfold/cmd/folder/internal/config"
	"sessionfold/source"
)

// Conn says how to reach the brokers. Files are read once now, so that one that
// is missing or wrong is told of at the start, and again for each connection or
// login.
func Conn(c *config.Config, log *slog.Logger) (source.Conn, error) {
	k := &c.Kafka
	conn := source.Conn{Brokers: k.Brokers, ClientID: k.ClientID, Logger: kafkaLogger(log)}
	if k.TLS {
		f := &tlsFiles{cfg: k, log: log}
		if _, err := f.load(); err != nil {
			return conn, err
		}
		conn.TLS = f.current
	}
	switch k.SASLMechanism {
	case "none":
		return conn, nil
	case "OAUTHBEARER":
		conn.SASL = source.SASL{Mechanism: k.SASLMechanism, Token: token(k)}
		if k.OAuthTokenFile != "" {
			_, err := secretFile("kafka.oauth_token_file", k.OAuthTokenFile)
			return conn, err
		}
		_, err := secretFile("kafka.oauth_client_secret_file", k.OAuthClientSecretFile)
		return conn, err
	}
	conn.SASL = source.SASL{Mechanism: k.SASLMechanism, User: k.SASLUser, Password: func() (string, error) {
		if k.SASLPasswordFile == "" {
			return string(k.SASLPassword), nil
		}
		return secretFile("kafka.sasl_password_file", k.SASLPasswordFile)
	}}
	_, err := conn.SASL.Password()
	return conn, err
}

// secretFile reads a secret without the line end that editors put behind it. The
// error names the file, never what is in it.
func secretFile(path, file string) (string, error) {
	b, err := os.ReadFile(file)
	if err != nil {
		return "", fmt.Errorf("%s: %w", path, err)
	}
	s := strings.TrimRight(string(b), "\r\n")
	if s == "" {
		return "", fmt.Errorf("%s: %s is empty", path, file)
	}
	return s, nil
}
