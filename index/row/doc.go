// Package row declares every stored byte: the keys, the encodings of their
// values, the format version, and how a fold.Step becomes writes. It is pure.
// The changelog topics carry the same keys and values.
package row
