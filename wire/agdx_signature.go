package wire

import "crypto/ed25519"

// SignatureDomain begins the bytes that are signed, so that a signature means
// nothing in another protocol.
const SignatureDomain = "agdx.signature.v1"

// Verdict is what was made of a record's signature.
type Verdict uint8

// The verdicts.
const (
	Unsigned       Verdict = iota
	Verified               // by the enrolled key of Rare.Actor
	UnknownKey             // no enrolled key has the id, or the scheme is not known
	WrongSignature         // the key is enrolled, and the signature is not its signature of this record
	verdictCount           //
)

var verdictNames = [verdictCount]string{"unsigned", "verified", "unknown_key", "wrong_signature"}

func (v Verdict) String() string {
	if v < verdictCount {
		return verdictNames[v]
	}
	return ""
}

// NewAGDXVerifier is NewAGDXDecoder with the keys that signatures are held
// against. keys is asked once per Decode, so a batch sees one set.
func NewAGDXVerifier(keys func() *Keys) Decoder { return &agdxDecoder{keys: keys} }

// signature holds a valid record's signature against the keys (spec agdx.md,
// section 8). Whatever comes of it, the record is what it is without one.
func (d *agdxDecoder) signature(raw *Raw, h *agdxHeaders, rec *Record) {
	r := d.rare(rec)
	r.Keys = d.enrolled.Fingerprint()
	g := &d.env.Signature
	key, ok := d.enrolled.find(g)
	if !ok {
		r.Verdict = UnknownKey
		return
	}
	r.Verdict = WrongSignature
	if !g.binds(d.format(h)) {
		return
	}
	if d.signed, ok = appendSigned(d.signed[:0], raw.Value); ok && ed25519.Verify(key.Public, d.signed, g.Bytes) {
		r.Verdict, r.Actor = Verified, key.Principal
	}
	if cap(d.signed) > maxKeptSigned {
		d.signed = nil
	}
}

// maxKeptSigned bounds the memory for signed bytes that stays for the next
// record.
const maxKeptSigned = 1 << 20

// binds says that what the signature's context names is what the record is read
// as. Version and content type ride in headers, beside what is signed: a header
// that was changed must not make a signed body mean something else. The header's
// version is this build's, or the record would be invalid.
func (g *Signature) binds(content ContentType) bool {
	return (!g.HasVersion || g.Version == EnvelopeVersion) &&
		(!g.HasContentType || ContentType(g.ContentType) == content)
}

// appendSigned appends the bytes that the signature of an encoded envelope is
// over: the domain, the signature's context when it has one, the envelope
// without its signature, with the map's head written again in shortest form.
// Every other byte is as received. ok is false when the signature is not the last
// entry. The payload has been decoded before, so it is well formed.
func appendSigned(b, payload []byte) (signed []byte, ok bool) {
	r := cborReader{b: payload}
	m := r.open(majorMap)
	from, entries := r.i, uint64(0)
	for r.more(&m) {
		at := r.i
		if string(r.key()) != "signature" {
			r.skip()
			entries++
			continue
		}
		b = append(b, SignatureDomain...)
		b = append(b, signatureContext(&r)...)
		b = append(appendHead(b, majorMap, entries), payload[from:at]...)
		return b, !r.more(&m) && r.end() == nil
	}
	return b, false
}

// signatureContext reads a signature and gives its context as it stands, nil
// without one.
func signatureContext(r *cborReader) (context []byte) {
	for m := r.open(majorMap); r.more(&m); {
		switch {
		case string(r.key()) != "context":
			r.skip()
		case !r.null():
			context = r.raw()
		}
	}
	return context
}

// Sign signs the envelope as it is now encoded; whatever is changed afterwards
// breaks the signature.
func (e *Envelope) Sign(key ed25519.PrivateKey) *Envelope {
	return e.sign(key, Signature{})
}

// SignAs is Sign with a context: the signature then also says that the body is
// of this content type and the envelope of this version.
func (e *Envelope) SignAs(key ed25519.PrivateKey, content ContentType) *Envelope {
	return e.sign(key, Signature{
		HasContext: true, HasContentType: true, ContentType: uint8(content), HasVersion: true, Version: EnvelopeVersion,
	})
}

func (e *Envelope) sign(key ed25519.PrivateKey, g Signature) *Envelope {
	id := KeyIDOf(key.Public().(ed25519.PublicKey))
	g.Scheme, g.KeyID = SchemeEd25519, id[:]
	b := []byte(SignatureDomain)
	if g.HasContext {
		b = g.appendContext(b)
	}
	e.Has &^= FieldSignature
	g.Bytes = ed25519.Sign(key, e.Append(b))
	return e.SetSignature(g)
}
