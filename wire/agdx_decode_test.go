package wire

import (
	"bytes"
	"strings"
	"testing"
)

// item is raw CBOR.
type item []byte

func tx(s string) item { return appendText(nil, s) }
func bs(b []byte) item { return appendBytes(nil, b) }
func un(n uint64) item { return appendUint(nil, n) }

func cat(parts ...item) item { return bytes.Join(toBytes(parts), nil) }

func toBytes(parts []item) (out [][]byte) {
	for _, p := range parts {
		out = append(out, p)
	}
	return out
}

// mp is a map of alternating keys and values.
func mp(parts ...item) item {
	return append(appendHead(nil, majorMap, uint64(len(parts)/2)), cat(parts...)...)
}

// base is a valid event as pairs.
func base() []item {
	one, two := testID(1), testID(2)
	return []item{
		tx("kind"), tx("event"), tx("record"), bs(one[:]), tx("conversation"), bs(two[:]),
		tx("source"), tx("a"), tx("body"), bs([]byte("x")),
	}
}

// plus is the base with more pairs.
func plus(parts ...item) item { return mp(append(base(), parts...)...) }

// but is the base with the value of one key replaced.
func but(key string, v item) item {
	b := base()
	for i := 0; i < len(b); i += 2 {
		if bytes.Equal(b[i], tx(key)) {
			b[i+1] = v
			return mp(b...)
		}
	}
	panic("no such key: " + key)
}

// without is the base without a key.
func without(key string) item {
	b := base()
	for i := 0; i < len(b); i += 2 {
		if bytes.Equal(b[i], tx(key)) {
			return mp(append(b[:i:i], b[i+2:]...)...)
		}
	}
	panic("no such key: " + key)
}

// nest wraps an item in n arrays.
func nest(n int, in item) item { return cat(bytes.Repeat(item{0x81}, n), in) }

func TestDecodeStrictness(t *testing.T) {
	null, tag, float, undefined := item{0xf6}, item{0xc0}, item{0xf9, 0x3c, 0}, item{0xf7}
	usage := func(parts ...item) item { return plus(tx("usage"), mp(parts...)) }
	in, out := cat(tx("input_tokens"), un(1)), cat(tx("output_tokens"), un(2))
	id15, id17 := bs(make([]byte, 15)), bs(make([]byte, 17))
	for _, c := range []struct {
		name string
		in   item
		want error // nil: decodes
	}{
		{"the base", mp(base()...), nil},
		{"empty", item{}, errCBORShort},
		{"an array", item{0x80}, errCBORType},
		{"an empty map", item{0xa0}, errCBORMissing},
		{"trailing byte", append(mp(base()...), 0), errCBORTrailing},
		{"cut", mp(base()...)[:40], errCBORShort},
		{"map counts too many", append(item{0xa6}, mp(base()...)[1:]...), errCBORShort},
		{"map of 2^64-1 entries", item{0xbb, 255, 255, 255, 255, 255, 255, 255, 255}, errCBORShort},
		{"indefinite map", cat(item{0xbf}, cat(base()...), item{0xff}), nil},
		{"indefinite map without end", cat(item{0xbf}, cat(base()...)), errCBORShort},
		{"long head of the map", append(item{0xb8, 5}, mp(base()...)[1:]...), nil},
		{"longest head of a text", but("source", item{0x7b, 0, 0, 0, 0, 0, 0, 0, 1, 'a'}), nil},
		{"long head of a number", plus(tx("must_understand"), item{0x1b, 0, 0, 0, 0, 0, 0, 0, 0}), nil},
		{"reserved head", item{0xbc}, errCBORSyntax},
		{"any order", mp(append(base()[6:], base()[:6]...)...), nil},
		{"indefinite text", but("source", item{0x7f, 0x61, 'a', 0x61, 'b', 0xff}), nil},
		{"indefinite key", plus(item{0x7f, 0x62, 't', 'o', 0x62, 'o', 'l', 0xff}, tx("t")), nil},
		{"indefinite bytes", but("body", item{0x5f, 0x41, 1, 0x41, 2, 0xff}), nil},
		{"indefinite id", but("conversation", cat(item{0x5f}, bs(make([]byte, 8)), bs(make([]byte, 8)), item{0xff})), nil},
		{"text chunk of bytes", but("source", item{0x7f, 0x41, 'a', 0xff}), errCBORSyntax},
		{"indefinite inside indefinite", but("source", item{0x7f, 0x7f, 0xff, 0xff}), errCBORSyntax},
		{"a rune over two chunks", but("source", item{0x7f, 0x61, 0xc3, 0x61, 0xa9, 0xff}), errCBORUTF8},

		{"no kind", without("kind"), errCBORMissing},
		{"no conversation", without("conversation"), errCBORMissing},
		{"no source", without("source"), errCBORMissing},
		{"no record", without("record"), nil},
		{"another kind", but("kind", tx("note")), errCBORType},
		{"kind in capitals", but("kind", tx("Event")), errCBORType},
		{"kind null", but("kind", null), errCBORType},
		{"conversation null", but("conversation", null), errCBORType},
		{"source null", but("source", null), errCBORType},
		{"body null", but("body", null), errCBORType},
		{"last null", plus(tx("last"), null), errCBORType},
		{"must_understand null", plus(tx("must_understand"), null), errCBORType},
		{"record null", but("record", null), nil},
		{"all optionals null", plus(tx("parent"), null, tx("root"), null, tx("target"), null, tx("cause"), null, tx("cause_at"), null,
			tx("correlation"), null, tx("channel"), null, tx("sequence"), null, tx("idempotency_key"), null, tx("deadline_micros"), null,
			tx("finish_reason"), null, tx("task_state"), null, tx("operation"), null, tx("tool"), null, tx("usage"), null, tx("metadata"), null, tx("signature"), null), nil},
		{"undefined is not null", plus(tx("tool"), undefined), errCBORType},

		{"known field twice", plus(tx("source"), tx("a")), errCBORRepeated},
		{"known field twice, null first", plus(tx("tool"), null, tx("tool"), tx("t")), errCBORRepeated},
		{"unknown field", plus(tx("colour"), tx("red")), nil},
		{"unknown field twice", plus(tx("colour"), tx("red"), tx("colour"), un(1)), nil},
		{"unknown field with a tag and a float", plus(tx("colour"), cat(tag, float)), nil},
		{"unknown field with ill-formed text", plus(tx("colour"), item{0x61, 0xff}), errCBORUTF8},
		{"unknown field that ends early", plus(tx("colour"), item{0x82, 1}), errCBORShort},
		{"unknown field with a break", plus(tx("colour"), item{0xff}), errCBORSyntax},
		{"unknown field with a two-byte false", plus(tx("colour"), item{0xf8, 20}), errCBORSyntax},
		{"unknown field with a simple value", plus(tx("colour"), item{0xf8, 32}), nil},
		{"unknown map of odd length", plus(tx("colour"), item{0xbf, 1, 0xff}), errCBORSyntax},
		{"key that is a number", plus(un(1), un(1)), errCBORKey},
		{"key that is bytes", plus(bs([]byte("kind")), un(1)), errCBORKey},
		{"key that is null", plus(null, un(1)), errCBORKey},
		{"ill-formed key", plus(item{0x61, 0xff}, un(1)), errCBORUTF8},
		{"nested map with a number as key", plus(tx("colour"), mp(un(1), un(2))), nil},

		{"id of 15 bytes", but("record", id15), errCBORType},
		{"id of 17 bytes", but("conversation", id17), errCBORType},
		{"id as text", but("record", tx("00000000000000000000000001")), errCBORType},
		{"id as an array", but("record", cat(item{0x90}, make(item, 16))), errCBORType},
		{"tag on an id", but("record", cat(tag, bs(make([]byte, 16)))), errCBORType},
		{"tag on a text", but("source", cat(tag, tx("a"))), errCBORType},
		{"tag on the envelope", cat(tag, mp(base()...)), errCBORType},
		{"locator of any length", plus(tx("cause_at"), bs([]byte{1})), nil},
		{"sequence as float", plus(tx("sequence"), float), errCBORType},
		{"sequence negative", plus(tx("sequence"), item{0x20}), errCBORType},
		{"state of 255", plus(tx("task_state"), un(255)), nil},
		{"state of 256", plus(tx("task_state"), un(256)), errCBORType},
		{"last as number", plus(tx("last"), un(1)), errCBORType},
		{"last false", plus(tx("last"), item{0xf4}), nil},
		{"body as text", but("body", tx("x")), errCBORType},
		{"body empty", but("body", bs(nil)), nil},
		{"ill-formed operation", plus(tx("operation"), item{0x62, 0xc3, 0x28}), errCBORUTF8},

		{"source empty", but("source", tx("")), errCBORType},
		{"source of 256 bytes", but("source", tx(strings.Repeat("x", 256))), nil},
		{"source of 257 bytes", but("source", tx(strings.Repeat("x", 257))), errCBORType},
		{"source with a newline", but("source", tx("a\n")), errCBORType},
		{"source with DEL", but("source", tx("a\x7f")), errCBORType},
		{"source with U+0085", but("source", tx("a\u0085")), errCBORType},
		{"source with U+00A0", but("source", tx("a\u00a0")), nil},
		{"source with é", but("source", tx("é")), nil},
		{"target empty", plus(tx("target"), tx("")), errCBORType},
		{"target with NUL", plus(tx("target"), tx("\x00")), errCBORType},

		{"usage", plus(tx("usage"), cat(item{0xa2}, in, out)), nil},
		{"usage without output", usage(tx("input_tokens"), un(1)), errCBORMissing},
		{"usage without input", usage(tx("output_tokens"), un(1)), errCBORMissing},
		{"usage with null input", usage(tx("input_tokens"), null, tx("output_tokens"), un(1)), errCBORType},
		{"usage with null cost", plus(tx("usage"), cat(item{0xa3}, in, out, tx("cost_micros"), null)), nil},
		{"usage with a float", plus(tx("usage"), cat(item{0xa3}, in, out, tx("cost_micros"), float)), errCBORType},
		{"usage with a field twice", plus(tx("usage"), cat(item{0xa3}, in, out, in)), errCBORRepeated},
		{"usage with an unknown field", plus(tx("usage"), cat(item{0xa3}, in, out, tx("x"), float)), nil},
		{"usage as array", plus(tx("usage"), item{0x80}), errCBORType},

		{"metadata as array", plus(tx("metadata"), item{0x80}), errCBORType},
		{"metadata with a number as key", plus(tx("metadata"), mp(un(1), un(1))), errCBORKey},
		{"metadata with a tagged map", plus(tx("metadata"), cat(tag, mp())), errCBORType},
		{"metadata with ill-formed text", plus(tx("metadata"), mp(tx("k"), item{0x61, 0xff})), errCBORUTF8},

		{"signature without bytes", plus(tx("signature"), mp(tx("scheme"), un(1), tx("key_id"), bs(nil))), errCBORMissing},
		{"signature as bytes", plus(tx("signature"), bs(nil)), errCBORType},
		{"signature with a context", plus(tx("signature"), mp(tx("scheme"), un(1), tx("key_id"), bs(nil), tx("bytes"), bs(nil), tx("context"), mp(tx("content_type"), un(1), tx("agent_version"), null))), nil},
		{"signature with a wrong context", plus(tx("signature"), mp(tx("scheme"), un(1), tx("key_id"), bs(nil), tx("bytes"), bs(nil), tx("context"), mp(tx("content_type"), un(256)))), errCBORType},

		{"128 levels", plus(tx("deep"), nest(127, un(1))), nil},
		{"129 levels", plus(tx("deep"), nest(128, un(1))), errCBORNesting},
		{"128 levels, the innermost a tag", plus(tx("deep"), nest(126, cat(tag, un(1)))), nil},
		{"129 levels, the innermost a tag", plus(tx("deep"), nest(127, cat(tag, un(1)))), errCBORNesting},
		{"a million levels", plus(tx("deep"), nest(1_000_000, un(1))), errCBORNesting},
		{"a million indefinite levels", plus(tx("deep"), bytes.Repeat(item{0x9f}, 1_000_000)), errCBORNesting},
		{"a million tags", plus(tx("deep"), cat(bytes.Repeat(tag, 1_000_000), un(1))), errCBORNesting},
		{"levels are left again", plus(tx("a"), nest(127, un(1)), tx("b"), nest(127, un(1))), nil},
	} {
		if _, err := DecodeEnvelope(c.in); err != c.want {
			t.Errorf("%s: DecodeEnvelope gives %v, want %v", c.name, err, c.want)
		}
	}
}

func TestDecodeReadsEveryForm(t *testing.T) {
	e, err := DecodeEnvelope(plus(
		item{0x7f, 0x62, 't', 'o', 0x62, 'o', 'l', 0xff}, item{0x7f, 0x62, 'x', 'y', 0x60, 0x61, 'z', 0xff},
		tx("sequence"), item{0x1b, 0, 0, 0, 0, 0, 0, 0, 9},
		tx("last"), item{0xf4}, tx("operation"), tx(""),
	))
	if err != nil {
		t.Fatal(err)
	}
	if string(e.Tool) != "xyz" || e.Sequence != 9 || e.Has&FieldSequence == 0 {
		t.Errorf("tool %q, sequence %d", e.Tool, e.Sequence)
	}
	if e.Has&FieldLast != 0 {
		t.Error("last: false is not absence")
	}
	if e.Operation == nil || e.Has&FieldOperation == 0 {
		t.Error("an empty operation is not absence")
	}
	if e.Has&(FieldParent|FieldTarget) != 0 || e.Target != nil {
		t.Error("absent fields are present")
	}
}

func TestDecodeMetadata(t *testing.T) {
	meta := func(parts ...item) item { return plus(tx("metadata"), mp(parts...)) }
	for _, c := range []struct {
		name string
		in   item
		want string // reason; "" valid
		back item   // the metadata as written again, nil: as it came
	}{
		{"scalars", meta(tx("a"), tx("b"), tx("c"), un(1), tx("d"), item{0x20}, tx("e"), item{0xf9, 0x3e, 0}, tx("f"), item{0xf5}), "", nil},
		{"list of scalars", meta(tx("a"), cat(item{0x83}, tx("b"), un(1), item{0xf4})), "", nil},
		{"empty", meta(), "", nil},
		{"wide float in shortest form", meta(tx("a"), item{0xfb, 0x3f, 0xf8, 0, 0, 0, 0, 0, 0}), "", mp(tx("a"), item{0xf9, 0x3e, 0})},
		{"last of repeated keys", meta(tx("a"), un(1), tx("b"), un(2), tx("a"), un(3)), "", mp(tx("a"), un(3), tx("b"), un(2))},
		{"null value", meta(tx("a"), item{0xf6}), ReasonMetadataType, nil},
		{"bytes", meta(tx("a"), bs(nil)), ReasonMetadataType, nil},
		{"map", meta(tx("a"), mp()), ReasonMetadataType, nil},
		{"tag", meta(tx("a"), cat(item{0xc0}, tx("x"))), ReasonMetadataType, nil},
		{"list in a list", meta(tx("a"), item{0x81, 0x80}), ReasonMetadataType, nil},
		{"simple value", meta(tx("a"), item{0xe0}), ReasonMetadataType, nil},
		{"long list", meta(tx("a"), cat(appendHead(nil, majorArray, 100_000), make(item, 100_000))), ReasonMetadataValue, nil},
	} {
		e, err := DecodeEnvelope(c.in)
		if err != nil {
			t.Errorf("%s: %v", c.name, err)
			continue
		}
		if err := e.Validate(); err != nil && err != Invalid(c.want) || err == nil && c.want != "" {
			t.Errorf("%s: Validate gives %v, want %q", c.name, err, c.want)
		}
		if c.want != "" {
			continue
		}
		want := c.back
		if want == nil {
			want = c.in[bytes.Index(c.in, tx("metadata"))+len(tx("metadata")):]
		}
		if got := e.Marshal(); !bytes.Contains(got, cat(tx("metadata"), want)) {
			t.Errorf("%s: metadata is written as\n%x, want\n%x", c.name, got, want)
		}
	}
	// Many keys cost no more memory than the caps allow, and no quadratic time.
	keys := []item{}
	for i := range 50_000 {
		keys = append(keys, tx("k"+strings.Repeat("x", i%200)), un(1))
	}
	e, err := DecodeEnvelope(meta(keys...))
	if err != nil || e.Validate() != Invalid(ReasonMetadataEntries) || len(e.Metadata) != maxMetaEntries {
		t.Errorf("50,000 entries: %v, %v, %d kept", err, e.Validate(), len(e.Metadata))
	}
}
