package kafka

import (
	"bytes"
	"context"
	"crypto/sha256"
	_ "embed"
	"encoding/hex"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"syscall"
)

//go:embed pom.xml
var pom []byte

//go:embed log4j2.xml
var log4j []byte

const copyPlugin = "org.apache.maven.plugins:maven-dependency-plugin:3.11.0:copy-dependencies"

// Install makes sure that the broker's jars are in a cache directory of the
// user and gives the directory. The name of the directory follows from the POM,
// so another version is another directory; a half-finished download is never
// taken for a whole one.
func Install(ctx context.Context) (string, error) {
	for _, tool := range []string{"java", "mvn"} {
		if _, err := exec.LookPath(tool); err != nil {
			return "", fmt.Errorf("kafka: %s is not on the PATH; real brokers need Java 17 and Maven: %w", tool, err)
		}
	}
	cache, err := os.UserCacheDir()
	if err != nil {
		return "", fmt.Errorf("kafka: no cache directory for the broker's jars: %w", err)
	}
	sum := sha256.Sum256(pom)
	dir := filepath.Join(cache, "sessionfold", "kafka-"+hex.EncodeToString(sum[:6]))
	if _, err := os.Stat(dir); err == nil {
		return dir, nil
	}
	if err := os.MkdirAll(filepath.Dir(dir), 0o755); err != nil {
		return "", fmt.Errorf("kafka: %w", err)
	}
	unlock, err := lock(dir + ".lock") // Maven's own cache is not for two at one time
	if err != nil {
		return "", err
	}
	defer unlock()
	if _, err := os.Stat(dir); err == nil {
		return dir, nil // another process was first
	}
	tmp, err := os.MkdirTemp(filepath.Dir(dir), "download-")
	if err != nil {
		return "", fmt.Errorf("kafka: %w", err)
	}
	defer os.RemoveAll(tmp)
	if err := errors.Join(
		os.WriteFile(filepath.Join(tmp, "pom.xml"), pom, 0o644),
		os.WriteFile(filepath.Join(tmp, "log4j2.xml"), log4j, 0o644),
	); err != nil {
		return "", fmt.Errorf("kafka: %w", err)
	}
	cmd := exec.CommandContext(ctx, "mvn", "-B", "-q", "-f", filepath.Join(tmp, "pom.xml"), copyPlugin,
		"-DincludeScope=runtime", "-DoutputDirectory="+filepath.Join(tmp, "libs"))
	if out, err := cmd.CombinedOutput(); err != nil {
		return "", fmt.Errorf("kafka: Maven cannot fetch the broker: %w\n%s", err, bytes.TrimSpace(out))
	}
	if err := os.Rename(tmp, dir); err != nil {
		return "", fmt.Errorf("kafka: %w", err)
	}
	return dir, nil
}

// lock waits until no other process has the file.
func lock(file string) (unlock func(), err error) {
	f, err := os.OpenFile(file, os.O_CREATE|os.O_RDWR, 0o644)
	if err == nil {
		err = syscall.Flock(int(f.Fd()), syscall.LOCK_EX)
	}
	if err != nil {
		return nil, fmt.Errorf("kafka: %w", err)
	}
	return func() { _ = f.Close() }, nil // which lets go of the lock
}
