package index

import (
	"errors"
	"fmt"

	"github.com/cockroachdb/pebble/v2"

	"sessionfold/index/row"
)

// get copies a key's value; nil when there is none.
func get(r pebble.Reader, key []byte) ([]byte, error) {
	v, closer, err := r.Get(key)
	if errors.Is(err, pebble.ErrNotFound) {
		return nil, nil
	}
	if err != nil {
		return nil, keyed(key, err)
	}
	out := append(make([]byte, 0, len(v)), v...)
	return out, closer.Close()
}

// scan calls f with every key that begins with prefix, in order; key and value
// are only valid during the call.
func scan(r pebble.Reader, prefix []byte, f func(key, value []byte) error) error {
	return scanRange(r, prefix, row.PrefixEnd(prefix), func(key, value []byte) (bool, error) {
		return true, f(key, value)
	})
}

// scanRange is scan over the keys of [from, to), until f says to stop.
func scanRange(r pebble.Reader, from, to []byte, f func(key, value []byte) (bool, error)) error {
	it, err := r.NewIter(&pebble.IterOptions{LowerBound: from, UpperBound: to})
	if err != nil {
		return err
	}
	for ok := it.First(); ok && err == nil; ok = ok && it.Next() {
		var value []byte
		if value, err = it.ValueAndErr(); err == nil {
			ok, err = f(it.Key(), value)
		}
	}
	return errors.Join(err, it.Error(), it.Close())
}

// keyed names the key an error is about.
func keyed(key []byte, err error) error {
	return fmt.Errorf("index: %s: %w", row.Describe(key), err)
}
