package wire

// Sniff tells a record's dialect by its value; false when it could be of any
// (spec settled.md). A CBOR map is AGDX; of JSON objects a DeepStrike event has a
// kind, or is a log line around one, an Everruns event a type, an Everruns
// session an organization.
func Sniff(raw *Raw) (Dialect, bool) {
	if len(raw.Value) == 0 {
		return DialectAGDX, false
	}
	var r jsonTokens
	r.reset(raw.Value)
	if !r.at('{') {
		if _, err := DecodeEnvelope(raw.Value); err == nil {
			return DialectAGDX, true
		}
		if _, err := DecodeMemory(raw.Value); err == nil {
			return DialectAGDX, true
		}
		return DialectAGDX, false
	}
	var deep, ever bool
	n := 0
	for r.open('{'); r.more('}', &n); {
		switch string(r.key()) {
		case "kind", "record_type":
			deep = deep || r.isText()
		case "event":
			deep = deep || r.at('{')
		case "type":
			ever = ever || r.isText()
		case "organization_id":
			ever = true
		}
		r.skip()
	}
	if !r.whole() || deep == ever {
		return DialectAGDX, false
	}
	if deep {
		return DialectDeepStrike, true
	}
	return DialectEverruns, true
}
