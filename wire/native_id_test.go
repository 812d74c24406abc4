package wire

import (
	"crypto/sha256"
	"encoding/hex"
	"testing"
)

func TestNativeID(t *testing.T) {
	const bits = "0123456789abcdeffedcba9876543210"
	hashed := func(d, text string) string {
		sum := sha256.Sum256([]byte("sessionfold.v1\x1f" + d + "\x1fs\x1f" + text))
		return hex.EncodeToString(sum[:16])
	}
	for _, c := range []struct {
		d          Dialect
		text, want string
	}{
		{DialectDeepStrike, bits, bits},
		{DialectDeepStrike, "0123456789ABCDEFFEDCBA9876543210", bits},
		{DialectDeepStrike, "01234567-89ab-cdef-fedc-BA9876543210", bits},
		{DialectEverruns, "session_" + bits, bits},
		{DialectEverruns, "SESSION_" + bits, bits},
		{DialectEverruns, bits, bits},
		{DialectDeepStrike, "014D2PF2DBSQQZXQ5TK1V5CGGG", ""}, // the text form of ids
		{DialectDeepStrike, "session_" + bits, hashed("deepstrike", "session_"+bits)},
		{DialectDeepStrike, "run-1", hashed("deepstrike", "run-1")},
		{DialectEverruns, "run-1", hashed("everruns", "run-1")},
		{DialectEverruns, "Run-1", hashed("everruns", "Run-1")},
		{DialectDeepStrike, "01234567_89ab-cdef-fedc-ba9876543210", hashed("deepstrike", "01234567_89ab-cdef-fedc-ba9876543210")},
		{DialectDeepStrike, bits[:31], hashed("deepstrike", bits[:31])},
		{DialectDeepStrike, bits[:31] + "g", hashed("deepstrike", bits[:31]+"g")},
		{DialectDeepStrike, "814D2PF2DBSQQZXQ5TK1V5CGGG", hashed("deepstrike", "814D2PF2DBSQQZXQ5TK1V5CGGG")}, // more than 128 bits
	} {
		id := NativeID(c.d, "s", []byte(c.text))
		want := c.want
		if len(c.text) == 26 {
			if u, err := ParseID(c.text); err == nil {
				want = hex.EncodeToString(u[:])
			}
		}
		if got := hex.EncodeToString(id[:]); got != want {
			t.Errorf("%s %s: %s, want %s", c.d, c.text, got, want)
		}
	}
	if NativeID(DialectDeepStrike, "s", []byte("x")) == NativeID(DialectDeepStrike, "t", []byte("x")) {
		t.Error("nothing crosses streams, and one text is one session of each")
	}
}
