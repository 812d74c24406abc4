package wire

import (
	"strings"
	"testing"
	"unicode"
	"unicode/utf8"
)

func TestClean(t *testing.T) {
	const bad = "\uFFFD"
	for _, c := range []struct {
		name, in string
		max      int
		want     string
		cut      bool
	}{
		{"empty", "", 4, "", false},
		{"plain", "abc", 3, "abc", false},
		{"no limit", strings.Repeat("x", 1000), 0, strings.Repeat("x", 1000), false},
		{"cut ascii", "abcd", 3, "abc", true},
		{"cut inside a rune", "aéé", 4, "aé", true},
		{"cut before a rune", "aé", 2, "a", true},
		{"cut to nothing", "日本", 2, "", true},
		{"exactly", "日本", 6, "日本", false},
		{"nul and newline", "a\x00b\nc", 0, "a" + bad + "b" + bad + "c", false},
		{"delete", "a\x7f", 0, "a" + bad, false},
		{"C1 control", "a\u0085b\u009fc\u00a0", 0, "a" + bad + "b" + bad + "c\u00a0", false},
		{"lone continuation bytes", "\x80\x80", 0, bad + bad, false},
		{"truncated three-byte rune is one part", "\xe2\x82a", 0, bad + "a", false},
		{"truncated four-byte rune at the end is one part", "a\xf0\x9f\x98", 0, "a" + bad, false},
		{"surrogate is three parts", "\xed\xa0\x80", 0, bad + bad + bad, false},
		{"overlong is a part a byte", "\xc0\xaf", 0, bad + bad, false},
		{"over U+10FFFF", "\xf4\x90\x80\x80", 0, bad + bad + bad + bad, false},
		{"a start of U+10FFFF is one part", "\xf4\x8f\xbfx", 0, bad + "x", false},
		{"a start of U+1000 is one part", "\xe1\x80x\xef\xbf", 0, bad + "x" + bad, false},
		{"a start of U+80 and of U+7FF", "\xc2x\xdf", 0, bad + "x" + bad, false},
		{"F0 needs 90", "\xf0\x8f\x80x", 0, bad + bad + bad + "x", false},
		{"ED ends at 9F", "\xed\x9fx", 0, bad + "x", false},
		{"F5 starts nothing", "\xf5\x80", 0, bad + bad, false},
		{"E0 needs A0", "\xe0\x9fx", 0, bad + bad + "x", false},
		{"U+FFFD itself stays", bad, 0, bad, false},
		{"cut behind a replacement", "\x01bc", 4, bad + "b", true},
		{"replacement does not fit", "ab\x01", 4, "ab", true},
		{"replacement fits exactly", "a\x01", 4, "a" + bad, false},
		{"the tail of a long dirty text is cut", "\x01" + strings.Repeat("y", 1000), 5, bad + "yy", true},
	} {
		if got, cut := Clean([]byte(c.in), c.max); got != c.want || cut != c.cut {
			t.Errorf("%s: Clean(%q, %d) = %q, %v, want %q, %v", c.name, c.in, c.max, got, cut, c.want, c.cut)
		}
	}
}

func FuzzClean(f *testing.F) {
	f.Add([]byte("a\xe2\x82\x00é"), 3)
	f.Fuzz(func(t *testing.T, b []byte, max int) {
		if max < 0 {
			max = 0
		}
		s, cut := Clean(b, max)
		if !utf8.ValidString(s) || strings.ContainsFunc(s, unicode.IsControl) {
			t.Fatalf("Clean(%q) = %q is not clean", b, s)
		}
		if max > 0 && len(s) > max || max == 0 && cut {
			t.Fatalf("Clean(%q, %d) = %q, %v", b, max, s, cut)
		}
		if whole, _ := Clean(b, 0); !strings.HasPrefix(whole, s) || cut != (len(s) < len(whole)) {
			t.Fatalf("Clean(%q, %d) = %q, %v is no cut of %q", b, max, s, cut, whole)
		}
		if again, _ := Clean([]byte(s), max); again != s {
			t.Fatalf("Clean is not stable: %q becomes %q", s, again)
		}
	})
}
