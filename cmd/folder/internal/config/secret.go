package config

import "log/slog"

// redacted stands for a secret that is set.
const redacted = "<redacted>"

// Secret is text that nothing prints: not fmt, not a log, not an encoder.
// Whoever needs it converts it to a string.
type Secret string

// String hides the text; the empty one has nothing to hide.
func (s Secret) String() string {
	if s == "" {
		return ""
	}
	return redacted
}

// GoString is what %#v prints.
func (s Secret) GoString() string { return s.String() }

// MarshalText is what JSON and YAML encoders write.
func (s Secret) MarshalText() ([]byte, error) { return []byte(s.String()), nil }

// LogValue is what a log shows.
func (s Secret) LogValue() slog.Value { return slog.StringValue(s.String()) }
