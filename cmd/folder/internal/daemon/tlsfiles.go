package daemon

import (
	"crypto/tls"
	"crypto/x509"
	"fmt"
	"log/slog"
	"os"
	"sync"

	"sessionfold/cmd/folder/internal/config"
)

// tlsFiles gives the TLS configuration of each connection from the files of now.
// Files that cannot be used, such as a certificate whose new key is not there
// yet, are told of once and those of before stay in force.
type tlsFiles struct {
	cfg *config.Kafka
	log *slog.Logger

	mu   sync.Mutex
	last *tls.Config // the last that could be used
	told string      // the error that was last told of
}

func (f *tlsFiles) current() (*tls.Config, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	t, err := f.load()
	if err == nil {
		f.last, f.told = t, ""
		return t, nil
	}
	if f.last == nil {
		return nil, err
	}
	if f.told != err.Error() {
		f.told = err.Error()
		f.log.Warn("TLS files that have changed cannot be used; those of before stay in force", "err", err)
	}
	return f.last, nil
}

func (f *tlsFiles) load() (*tls.Config, error) {
	k := f.cfg
	t := &tls.Config{MinVersion: tls.VersionTLS12, ServerName: k.TLSServerName}
	if k.TLSCAFile != "" {
		pem, err := os.ReadFile(k.TLSCAFile)
		if err != nil {
			return nil, fmt.Errorf("kafka.tls_ca_file: %w", err)
		}
		t.RootCAs = x509.NewCertPool()
		if !t.RootCAs.AppendCertsFromPEM(pem) {
			return nil, fmt.Errorf("kafka.tls_ca_file: %s holds no PEM certificate", k.TLSCAFile)
		}
	}
	if k.TLSCertFile != "" {
		cert, err := tls.LoadX509KeyPair(k.TLSCertFile, k.TLSKeyFile)
		if err != nil {
			return nil, fmt.Errorf("kafka.tls_cert_file: %w", err)
		}
		t.Certificates = []tls.Certificate{cert}
	}
	return t, nil
}
