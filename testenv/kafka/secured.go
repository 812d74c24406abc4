package kafka

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
)

// SecureVar names a file in which somebody describes a Secure that runs:
// testenv/cmd/withkafka -secure.
const SecureVar = "FOLDER_TEST_SECURE"

// Secured gives the node of SecureVar, whose names of topics, groups and users
// other tests use too, or starts one of its own.
func Secured(ctx context.Context, dir string) (*Secure, error) {
	file := os.Getenv(SecureVar)
	if file == "" {
		return StartSecure(ctx, dir)
	}
	s := &Secure{}
	text, err := os.ReadFile(file)
	if err == nil {
		err = json.Unmarshal(text, s)
	}
	if err != nil {
		return nil, fmt.Errorf("kafka: the node of %s: %w", SecureVar, err)
	}
	return s, nil
}

// Describe writes the file that SecureVar names.
func (s *Secure) Describe(file string) error {
	text, err := json.Marshal(s)
	if err == nil {
		err = os.WriteFile(file, text, 0o600)
	}
	if err != nil {
		return fmt.Errorf("kafka: describe a node: %w", err)
	}
	return nil
}

// Close ends the node, if it was started here.
func (s *Secure) Close() {
	if s.node != nil {
		_ = s.node.Kill() // its data goes with it
	}
}
