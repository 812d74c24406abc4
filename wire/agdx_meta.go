package wire

// Caps of envelope metadata (spec agdx.md, section 2; sizes as spec settled.md,
// "Envelope and headers", counts them).
const (
	maxMetaEntries  = 32
	maxMetaKey      = 256
	maxMetaValue    = 1024
	maxMetaTotal    = 8192
	metaScalarBytes = 9
)

// Metadata keys with a meaning.
const (
	MetaRole          = "role"
	MetaOnBehalfOf    = "on_behalf_of"
	MetaSubmitted     = "submitted"
	MetaDuration      = "duration_micros"
	MetaRequestModel  = "gen_ai.request.model"
	MetaResponseModel = "gen_ai.response.model"
	MetaProvider      = "gen_ai.provider.name"
)

// Meta is one metadata entry.
type Meta struct {
	Key   []byte
	Value MetaValue
}

// MetaType is the type of a metadata value.
type MetaType uint8

// The metadata types: scalars, and a list of scalars.
const (
	MetaText MetaType = iota
	MetaUint
	MetaNegative // the value is -1 - Num
	MetaFloat
	MetaBool // Num is 0 or 1
	MetaList
)

// MetaValue is a metadata value. Which field holds it follows from Type.
type MetaValue struct {
	Type  MetaType
	Text  []byte
	Num   uint64
	Float float64
	List  []MetaValue // scalars only
}

// size counts a value as the caps do.
func (v *MetaValue) size() int {
	switch v.Type {
	case MetaText:
		return len(v.Text)
	case MetaList:
		n := 0
		for i := range v.List {
			n += 1 + v.List[i].size()
		}
		return n
	}
	return metaScalarBytes
}

func (v *MetaValue) append(b []byte) []byte {
	switch v.Type {
	case MetaText:
		return appendText(b, v.Text)
	case MetaUint:
		return appendUint(b, v.Num)
	case MetaNegative:
		return appendHead(b, majorNint, v.Num)
	case MetaFloat:
		return appendFloat(b, v.Float)
	case MetaBool:
		return appendBool(b, v.Num != 0)
	}
	b = appendHead(b, majorArray, uint64(len(v.List)))
	for i := range v.List {
		b = v.List[i].append(b)
	}
	return b
}

// meta finds a metadata entry.
func (e *Envelope) meta(key string) *MetaValue {
	for i := range e.Metadata {
		if string(e.Metadata[i].Key) == key {
			return &e.Metadata[i].Value
		}
	}
	return nil
}

// checkMeta gives the reason that metadata breaks a cap, or "".
func (e *Envelope) checkMeta() string {
	if e.metaFault != "" {
		return e.metaFault
	}
	if len(e.Metadata) > maxMetaEntries {
		return ReasonMetadataEntries
	}
	total := 0
	for i := range e.Metadata {
		m := &e.Metadata[i]
		size := m.Value.size()
		if len(m.Key) > maxMetaKey {
			return ReasonMetadataKey
		}
		if size > maxMetaValue {
			return ReasonMetadataValue
		}
		total += len(m.Key) + size
	}
	if total > maxMetaTotal {
		return ReasonMetadataTotal
	}
	return ""
}

// readMeta reads the metadata map. A value of a forbidden type or a broken
// count is not a decoding error but a fault that makes the record invalid.
// Memory stays within the caps whatever the input says.
func (e *Envelope) readMeta(r *cborReader) {
	if e.Metadata = e.metaBuf; e.Metadata == nil {
		e.Metadata = make([]Meta, 0, 4)
	}
	s := r.open(majorMap)
	for r.more(&s) {
		key := r.key()
		v, fault := readMetaValue(r)
		if r.err != nil {
			return
		}
		if fault != "" && e.metaFault == "" {
			e.metaFault = fault
		}
		e.putMeta(key, v)
	}
	e.metaBuf = e.Metadata[:0]
}

// putMeta keeps an entry; the last of repeated keys wins, at its first place.
func (e *Envelope) putMeta(key []byte, v MetaValue) {
	if old := e.meta(string(key)); old != nil {
		*old = v
		return
	}
	if len(e.Metadata) == maxMetaEntries {
		if e.metaFault == "" {
			e.metaFault = ReasonMetadataEntries
		}
		return
	}
	e.Metadata = append(e.Metadata, Meta{Key: key, Value: v})
}

func readMetaValue(r *cborReader) (v MetaValue, fault string) {
	if r.peek()>>5 != majorArray {
		return readMetaScalar(r)
	}
	v.Type = MetaList
	size := 0
	s := r.open(majorArray)
	for r.more(&s) {
		item, bad := readMetaScalar(r)
		if bad != "" {
			fault = bad
		}
		if size += 1 + item.size(); size <= maxMetaValue {
			v.List = append(v.List, item)
		} else if fault == "" {
			fault = ReasonMetadataValue // too large already: read on, keep nothing
		}
	}
	return v, fault
}

func readMetaScalar(r *cborReader) (v MetaValue, fault string) {
	c := r.peek()
	switch c >> 5 {
	case majorText:
		return MetaValue{Type: MetaText, Text: r.text()}, ""
	case majorUint, majorNint:
		_, n, _ := r.head()
		return MetaValue{Type: MetaUint + MetaType(c>>5), Num: n}, ""
	case majorSimple:
		switch c {
		case cborFalse, cborTrue:
			r.i++
			return MetaValue{Type: MetaBool, Num: uint64(c & 1)}, ""
		case 0xf9, 0xfa, 0xfb:
			_, bits, _ := r.head()
			return MetaValue{Type: MetaFloat, Float: floatOf(c&31, bits)}, ""
		}
	}
	r.skip()
	return MetaValue{Type: MetaBool}, ReasonMetadataType
}
