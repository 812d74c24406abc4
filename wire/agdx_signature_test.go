package wire

import (
	"bytes"
	"crypto/ed25519"
	"encoding/base64"
	"encoding/hex"
	"fmt"
	"strings"
	"testing"
)

// The first three vectors of RFC 8032, section 7.1: seed, public key, message,
// signature.
var rfc8032 = [][4]string{
	{
		"9d61b19deffd5a60ba844af492ec2cc44449c5697b326919703bac031cae7f60",
		"d75a980182b10ab7d54bfed3c964073a0ee172f3daa62325af021a68f707511a", "",
		"e5564300c360ac729086e2cc806e828a84877f1eb8e5d974d873e065224901555fb8821590a33bacc61e39701cf9b46bd25bf5f0595bbe24655141438e7a100b",
	},
	{
		"4ccd089b28ff96da9db6c346ec114e0f5b8a319f35aba624da8cf6ed4fb8a6fb",
		"3d4017c3e843895a92b70aa74d1b7ebc9c982ccf2ec4968cc0cd55f12af4660c", "72",
		"92a009a9f0d4cab8720e820b5f642540a2b27b5416503f8fb3762223ebdb69da085ac1e43e15996e458f3613d0f11d8c387b2eaeb4302aeeb00d291612bb0c00",
	},
	{
		"c5aa8df43f9f837bedb7442f31dcb7b166d38535076f094b85ce3a2e0b4458f7",
		"fc51cd8e6218a1a38da47ed00230f0580816ed13ba3303ac5deb911548908025", "af82",
		"6291d657deec24024827e69c3abe01a30ce548a284743a445e3680d7db5ac3ac18ff9b538d16f290ae67f760984dc6594a7c15e9716ed28dc027beceea1ec40a",
	},
}

func unhex(s string) []byte {
	b, err := hex.DecodeString(s)
	if err != nil {
		panic(err)
	}
	return b
}

// rfcKey is the private key of a vector.
func rfcKey(n int) ed25519.PrivateKey { return ed25519.NewKeyFromSeed(unhex(rfc8032[n][0])) }

// rfcKeys enrols the first two vectors' keys; the third is a stranger's.
func rfcKeys(t testing.TB) *Keys {
	t.Helper()
	k, err := ParseKeys([]byte(rfc8032[0][1] + " ann\n" + rfc8032[1][1] + " bob the builder\n"))
	if err != nil {
		t.Fatal(err)
	}
	return k
}

// What the library makes of the RFC's vectors, so that the rest may lean on it;
// and the key ids that follow from its keys.
func TestRFC8032(t *testing.T) {
	for i, v := range rfc8032 {
		if pub := rfcKey(i).Public().(ed25519.PublicKey); hex.EncodeToString(pub) != v[1] {
			t.Errorf("vector %d: public key %x", i, pub)
		}
		if sig := ed25519.Sign(rfcKey(i), unhex(v[2])); hex.EncodeToString(sig) != v[3] {
			t.Errorf("vector %d: signature %x", i, sig)
		}
	}
	// sha256sum of the 32 bytes, cut.
	if id := KeyIDOf(unhex(rfc8032[0][1])); hex.EncodeToString(id[:]) != "21fe31dfa154a261" {
		t.Errorf("key id %x", id)
	}
}

// The signed bytes, written out once by hand, byte for byte.
func TestSignedBytes(t *testing.T) {
	one, two := testID(1), testID(2)
	entries := cat(tx("kind"), tx("event"), tx("record"), bs(one[:]), tx("conversation"), bs(two[:]), tx("source"), tx("a"), tx("body"), bs([]byte("x")))
	e := &Envelope{Kind: KindEvent, Conversation: two, Source: []byte("a"), Body: []byte("x")}
	e.SetRecord(one)
	domain := item("agdx.signature.v1")
	for name, c := range map[string]struct {
		signed *Envelope
		want   item
	}{
		"plain": {e.Sign(rfcKey(0)), cat(domain, item{0xa5}, entries)},
		"with a context": {new(Envelope).copyOf(e).SignAs(rfcKey(0), ContentJSON),
			cat(domain, item{0xa2}, tx("content_type"), un(1), tx("agent_version"), un(1), item{0xa5}, entries)},
	} {
		got, ok := appendSigned(nil, c.signed.Marshal())
		if !ok || !bytes.Equal(got, c.want) {
			t.Errorf("%s: signed bytes %x (%t), want %x", name, got, ok, c.want)
		}
		if want := ed25519.Sign(rfcKey(0), c.want); !bytes.Equal(c.signed.Signature.Bytes, want) {
			t.Errorf("%s: signature %x, want %x", name, c.signed.Signature.Bytes, want)
		}
	}
}

func (e *Envelope) copyOf(o *Envelope) *Envelope { *e = *o; return e }

// verdictOf decodes one record of a role under keys.
func verdictOf(keys *Keys, role Role, raw Raw) (Record, Verdict, string) {
	rec := NewAGDXVerifier(func() *Keys { return keys }).Decode(topicOf(role), []Raw{raw})[0]
	if rec.Rare == nil {
		return rec, Unsigned, ""
	}
	return rec, rec.Rare.Verdict, rec.Rare.Actor
}

func TestVerdicts(t *testing.T) {
	keys := rfcKeys(t)
	signed := func() *Envelope { return event().Sign(rfcKey(0)) }
	rawOf := func(e *Envelope, content ContentType) Raw {
		return Raw{Value: e.Marshal(), Headers: e.Headers(content)}
	}
	entry := func(e *Envelope) item { return cat(tx("signature"), item(e.Signature.Append(nil))) }
	without := func(e *Envelope) item { // the entries of the envelope without its signature
		c := new(Envelope).copyOf(e)
		c.Has &^= FieldSignature
		return item(c.Marshal())[1:]
	}
	n := func(e *Envelope) byte { return e.Marshal()[0] &^ 0xe0 }
	changed := signed()
	changed.Body = []byte("y")
	flipped := signed()
	flipped.Signature.Bytes[63] ^= 1
	otherKey := signed()
	id := KeyIDOf(rfcKey(1).Public().(ed25519.PublicKey))
	otherKey.Signature.KeyID = id[:]
	scheme := signed()
	scheme.Signature.Scheme = 2
	noContext := event().SignAs(rfcKey(0), ContentJSON)
	noContext.Signature.HasContext = false
	addContext := signed()
	addContext.Signature.HasContext = true
	version := event().sign(rfcKey(0), Signature{HasContext: true, HasVersion: true, Version: 2})
	empty := event().sign(rfcKey(0), Signature{HasContext: true})
	claimed := event()
	claimed.Source = []byte("somebody else") // a claim: the key says who signed
	invalid := event()
	invalid.SetTaskState(TaskWorking)
	for _, c := range []struct {
		name  string
		raw   Raw
		want  Verdict
		actor string
	}{
		{"good", rawOf(signed(), ContentRaw), Verified, "ann"},
		{"another's", rawOf(event().Sign(rfcKey(1)), ContentRaw), Verified, "bob the builder"},
		{"under another author", rawOf(claimed.Sign(rfcKey(0)), ContentRaw), Verified, "ann"},
		{"unsigned", rawOf(event(), ContentRaw), Unsigned, ""},
		{"null signature", Raw{Value: plus(tx("signature"), item{cborNull})}, Unsigned, ""},
		{"unknown key", rawOf(event().Sign(rfcKey(2)), ContentRaw), UnknownKey, ""},
		{"unknown scheme", rawOf(scheme, ContentRaw), UnknownKey, ""},
		{"a byte of the body", rawOf(changed, ContentRaw), WrongSignature, ""},
		{"a bit of the signature", rawOf(flipped, ContentRaw), WrongSignature, ""},
		{"another's key id", rawOf(otherKey, ContentRaw), WrongSignature, ""},

		{"context", rawOf(event().SignAs(rfcKey(0), ContentJSON), ContentJSON), Verified, "ann"},
		{"empty context", rawOf(empty, ContentRaw), Verified, "ann"},
		{"context left out", rawOf(noContext, ContentJSON), WrongSignature, ""},
		{"context put in", rawOf(addContext, ContentRaw), WrongSignature, ""},
		{"header of another type", rawOf(event().SignAs(rfcKey(0), ContentJSON), ContentCBOR), WrongSignature, ""},
		{"header taken away, read alike", Raw{Value: event().SignAs(rfcKey(0), ContentCBOR).Marshal()}, Verified, "ann"},
		{"header taken away, read otherwise", Raw{Value: event().SignAs(rfcKey(0), ContentJSON).Marshal()}, WrongSignature, ""},
		{"context of another version", rawOf(version, ContentRaw), WrongSignature, ""},

		// The map's head is written again; all else is as received.
		{"long head", Raw{Value: cat(item{0xb9, 0, n(signed())}, without(signed()), entry(signed()))}, Verified, "ann"},
		{"indefinite map", Raw{Value: cat(item{0xbf}, without(signed()), entry(signed()), item{0xff})}, Verified, "ann"},
		{"not the last", Raw{Value: cat(item{0xa0 | n(signed())}, entry(signed()), without(signed()))}, WrongSignature, ""},
		{"not the last of an indefinite map", Raw{Value: cat(item{0xbf}, entry(signed()), without(signed()), item{0xff})}, WrongSignature, ""},
		{"unknown field behind it", Raw{Value: cat(item{0xa0 | n(signed()) + 1}, without(signed()), entry(signed()), tx("x"), un(1))}, WrongSignature, ""},
		{"unknown field put in", Raw{Value: cat(item{0xa0 | n(signed()) + 1}, without(signed()), tx("x"), un(1), entry(signed()))}, WrongSignature, ""},
		{"long head inside", Raw{Value: cat(item{0xa0 | n(signed())}, without(signed())[:len(without(signed()))-2], item{0x58, 1}, item("x"), entry(signed()))}, WrongSignature, ""},
	} {
		rec, got, actor := verdictOf(keys, RoleLane, c.raw)
		if rec.Display == DisplayInvalid || rec.Display == DisplayUndecodable {
			t.Errorf("%s: %s (%s)", c.name, rec.Display, rec.Reason)
		}
		if got != c.want || actor != c.actor {
			t.Errorf("%s: %s by %q, want %s by %q", c.name, got, actor, c.want, c.actor)
		}
		if c.want != Unsigned && rec.Rare.Keys != keys.Fingerprint() {
			t.Errorf("%s: held against keys %x, want %x", c.name, rec.Rare.Keys, keys.Fingerprint())
		}
	}

	if _, got, _ := verdictOf(nil, RoleLane, rawOf(signed(), ContentRaw)); got != UnknownKey {
		t.Errorf("without keys: %s", got)
	}
	if _, got, _ := verdictOf(keys, RoleHeartbeats, rawOf(signed(), ContentRaw)); got != Unsigned {
		t.Errorf("a heartbeat: %s", got)
	}
	// A record that breaks a rule adds to nothing, whoever signed it.
	if rec, got, _ := verdictOf(keys, RoleLane, rawOf(invalid.Sign(rfcKey(0)), ContentRaw)); got != Unsigned || rec.Display != DisplayInvalid {
		t.Errorf("an invalid record: %s, %s", got, rec.Display)
	}
}

// Signed fields that are written otherwise than this encoder would are signed as
// they stand: an indefinite body, an unknown field before the signature.
func TestSignedAsReceived(t *testing.T) {
	one, two := testID(1), testID(2)
	entries := cat(tx("record"), bs(one[:]), tx("x-trace"), un(7), tx("source"), tx("a"), tx("conversation"), bs(two[:]),
		tx("body"), item{0x5f, 0x41, 'a', 0x41, 'b', 0xff}, tx("kind"), tx("event"))
	context := mp(tx("later"), un(1), tx("content_type"), item{0x18, 3})
	g := Signature{Scheme: SchemeEd25519, Bytes: ed25519.Sign(rfcKey(0), cat(item(SignatureDomain), context, item{0xa6}, entries))}
	id := KeyIDOf(rfcKey(0).Public().(ed25519.PublicKey))
	raw := Raw{Value: cat(item{0xa7}, entries, tx("signature"),
		mp(tx("context"), context, tx("bytes"), bs(g.Bytes), tx("key_id"), bs(id[:]), tx("scheme"), un(1)))}
	if rec, got, actor := verdictOf(rfcKeys(t), RoleAudit, raw); got != Verified || actor != "ann" {
		t.Errorf("%s by %q (%s %s)", got, actor, rec.Display, rec.Reason)
	}
}

// The set is asked for once per batch.
func TestKeysAreOfTheBatch(t *testing.T) {
	stranger, err := ParseKeys([]byte(rfc8032[2][1] + " eve"))
	if err != nil {
		t.Fatal(err)
	}
	sets := []*Keys{stranger, rfcKeys(t), nil}
	asked := 0
	d := NewAGDXVerifier(func() *Keys { asked++; return sets[asked-1] })
	raw := Raw{Value: event().Sign(rfcKey(0)).Marshal()}
	for i, want := range []Verdict{UnknownKey, Verified, UnknownKey} {
		for _, rec := range d.Decode(topicOf(RoleLane), []Raw{raw, raw, raw}) {
			if rec.Rare.Verdict != want {
				t.Errorf("batch %d: %s, want %s", i, rec.Rare.Verdict, want)
			}
		}
	}
}

func TestParseKeys(t *testing.T) {
	pub := rfc8032[0][1]
	b64 := base64.StdEncoding.EncodeToString(unhex(pub))
	many := func(n int) string { return strings.Repeat("p", n) }
	for _, c := range []struct{ name, file, want string }{
		{"both forms", "# ops, 2026\n\n" + pub + " ann\r\n" + base64.StdEncoding.EncodeToString(unhex(rfc8032[1][1])) + "\t ann \n", ""},
		{"no newline at the end", pub + " ann", ""},
		{"longest principal", pub + " " + many(256), ""},
		{"empty", "", "no key"},
		{"only remarks", "# none\n", "no key"},
		{"no principal", "\n" + pub + "\n", "line 2: behind the key"},
		{"principal first", "ann " + pub, "line 1: the first word"},
		{"short hex", pub[2:] + " ann", "line 1: the first word"},
		{"no hex", "zz" + pub[2:] + " ann", "line 1: the first word"},
		{"private key of 64 bytes", pub + pub + " ann", "line 1: the first word"},
		{"base64 with stray bits", b64[:42] + "p= ann", "line 1: the first word"},
		{"base64 without padding", b64[:43] + " ann", "line 1: the first word"},
		{"principal too long", pub + " " + many(257), "line 1: the principal has 257 bytes"},
		{"control character", pub + " a\x01b", "line 1: the principal is no"},
		{"no UTF-8", pub + " \xff", "line 1: the principal is no"},
		{"twice", pub + " ann\n# \n" + b64 + " bob\n", "line 3: the key of line 1 again"},
		{"too large", strings.Repeat("#\n", MaxKeysFile/2+1), "more than a keys file may have"},
	} {
		k, err := ParseKeys([]byte(c.file))
		switch {
		case c.want == "" && err != nil, c.want != "" && (err == nil || !strings.Contains(err.Error(), c.want)):
			t.Errorf("%s: %v, want %q", c.name, err, c.want)
		case err != nil && (strings.Contains(err.Error(), pub[4:20]) || strings.Contains(err.Error(), b64[4:20])):
			t.Errorf("%s: the error shows what stands there: %v", c.name, err)
		case err == nil && k.Len() == 0:
			t.Errorf("%s: no keys", c.name)
		}
	}
}

// A fingerprint is the set's, not the file's.
func TestFingerprint(t *testing.T) {
	print := func(lines ...string) uint64 {
		k, err := ParseKeys([]byte(strings.Join(lines, "\n")))
		if err != nil {
			t.Fatal(err)
		}
		return k.Fingerprint()
	}
	a, b := rfc8032[0][1], rfc8032[1][1]
	same := print(a+" ann", b+" bob")
	if got := print("# moved", b+"   bob", "", a+" ann"); got != same {
		t.Errorf("the same set has %x and %x", same, got)
	}
	seen := map[uint64]string{(*Keys)(nil).Fingerprint(): "none", same: "both"}
	for _, other := range [][]string{{a + " ann"}, {b + " bob"}, {a + " bob", b + " ann"}, {a + " annb", b + " ob"}} {
		p := print(other...)
		if was, taken := seen[p]; taken {
			t.Errorf("%q has the fingerprint of %q", other, was)
		}
		seen[p] = fmt.Sprint(other)
	}
}
