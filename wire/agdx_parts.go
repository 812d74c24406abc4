package wire

import "math"

// maxAgentID is the longest agent id in bytes.
const maxAgentID = 256

// agent reads an agent id; one that breaks its rules does not decode.
func (r *cborReader) agent() []byte {
	b := r.text()
	if r.err == nil && !validAgent(b) {
		r.err = errCBORType
	}
	return b
}

// validAgent says that UTF-8 text is an agent id: 1 to 256 bytes without
// control characters.
func validAgent(b []byte) bool {
	return len(b) > 0 && len(b) <= maxAgentID && !hasControl(b)
}

// hasControl finds a Unicode control character (Cc) in UTF-8 text: U+0000 to
// U+001F and U+007F to U+009F, the latter being C2 80 to C2 9F beyond DEL.
func hasControl(b []byte) bool {
	for i, c := range b {
		if c < 0x20 || c == 0x7f || c == 0xc2 && i+1 < len(b) && b[i+1] < 0xa0 {
			return true
		}
	}
	return false
}

// read reads the usage map; both token counts are required.
func (u *TokenCounts) read(r *cborReader) {
	const input, output, reasoning, cacheRead, cacheCreation, cost = 1, 2, 4, 8, 16, 32
	var seen, has int
	s := r.open(majorMap)
	for r.more(&s) {
		var bit int
		var to *uint64
		switch string(r.key()) {
		case "input_tokens":
			bit, to = input, &u.Input
		case "output_tokens":
			bit, to = output, &u.Output
		case "reasoning_output_tokens":
			bit, to = reasoning, &u.Reasoning
		case "cache_read_input_tokens":
			bit, to = cacheRead, &u.CacheRead
		case "cache_creation_input_tokens":
			bit, to = cacheCreation, &u.CacheCreation
		case "cost_micros":
			bit, to = cost, &u.Cost
		default:
			r.skip()
			continue
		}
		if !r.once(&seen, bit) {
			return
		}
		if bit > output && r.null() {
			continue
		}
		*to = r.uint(math.MaxUint64)
		has |= bit
	}
	if r.err == nil && has&(input|output) != input|output {
		r.err = errCBORMissing
	}
	if has&reasoning != 0 {
		u.Has |= HasReasoning
	}
	if has&cacheRead != 0 {
		u.Has |= HasCacheRead
	}
	if has&cacheCreation != 0 {
		u.Has |= HasCacheWrite
	}
	if has&cost != 0 {
		u.Has |= HasCost
	}
}

// read reads the signature capsule; all but the context is required.
func (g *Signature) read(r *cborReader) {
	const scheme, keyID, sig, context = 1, 2, 4, 8
	var seen int
	s := r.open(majorMap)
	for r.more(&s) {
		switch string(r.key()) {
		case "scheme":
			if r.once(&seen, scheme) {
				g.Scheme = uint8(r.uint(math.MaxUint8))
			}
		case "key_id":
			if r.once(&seen, keyID) {
				g.KeyID = r.bytes()
			}
		case "bytes":
			if r.once(&seen, sig) {
				g.Bytes = r.bytes()
			}
		case "context":
			if r.once(&seen, context) && !r.null() {
				g.HasContext = true
				g.readContext(r)
			}
		default:
			r.skip()
		}
	}
	if r.err == nil && seen&(scheme|keyID|sig) != scheme|keyID|sig {
		r.err = errCBORMissing
	}
}

func (g *Signature) readContext(r *cborReader) {
	const contentType, version = 1, 2
	var seen int
	s := r.open(majorMap)
	for r.more(&s) {
		switch string(r.key()) {
		case "content_type":
			if r.once(&seen, contentType) && !r.null() {
				g.HasContentType, g.ContentType = true, uint8(r.uint(math.MaxUint8))
			}
		case "agent_version":
			if r.once(&seen, version) && !r.null() {
				g.HasVersion, g.Version = true, uint32(r.uint(math.MaxUint32))
			}
		default:
			r.skip()
		}
	}
}

// DecodeSignature reads a signature capsule that stands alone.
func DecodeSignature(b []byte) (Signature, error) {
	var g Signature
	r := cborReader{b: b}
	g.read(&r)
	return g, r.end()
}
