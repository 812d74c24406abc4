package wire

// model keeps model and provider; the second key stands in for the first.
func (d *agdxDecoder) model(key, other string) {
	d.metaText(SumProvider, MetaProvider)
	if !d.metaText(SumModel, key) && other != "" {
		d.metaText(SumModel, other)
	}
}

func (d *agdxDecoder) metaText(k SummaryKey, key string) bool {
	v := d.env.meta(key)
	if v == nil || v.Type != MetaText {
		return false
	}
	d.text(k, v.Text)
	return true
}

func (d *agdxDecoder) duration() {
	if v := d.env.meta(MetaDuration); v != nil && v.Type == MetaUint {
		d.number(SumDuration, v.Num)
	}
}

// result keeps the shape of a tool result.
func (d *agdxDecoder) result(status string) {
	d.word(SumStatus, status)
	d.duration()
	d.number(SumSize, uint64(len(d.env.Body)))
}

// failed keeps the shape of an error; its message and detail are content.
func (d *agdxDecoder) failed(b *ErrorBody) {
	d.number(SumCode, uint64(b.Code))
	d.boolean(SumRetryable, b.Retryable)
}

// call keeps the shape of a tool call: names of the arguments, size and digest.
func (d *agdxDecoder) call(h *agdxHeaders) {
	body := d.env.Body
	from := len(d.lists)
	ok := false
	switch d.format(h) {
	case ContentJSON:
		ok = d.jsonKeys(body)
	case ContentCBOR:
		ok = d.cborKeys(body)
	default:
		d.word(SumContentType, h.content.String())
	}
	d.argumentKeys(from, ok)
	d.digest(body)
}

// format is the content type of the body: the header's, else JSON when the
// first byte is a brace, else CBOR.
func (d *agdxDecoder) format(h *agdxHeaders) ContentType {
	switch {
	case h.hasContent:
		return h.content
	case len(d.env.Body) > 0 && d.env.Body[0] == '{':
		return ContentJSON
	}
	return ContentCBOR
}

// cborKeys lists the keys of a CBOR map, as jsonKeys those of an object.
func (d *agdxDecoder) cborKeys(b []byte) bool {
	r := cborReader{b: b}
	from := len(d.lists)
	for m := r.open(majorMap); r.more(&m); {
		key := r.key()
		r.skip()
		if len(d.lists)-from < maxSummaryList {
			d.lists = append(d.lists, key)
		}
	}
	return r.end() == nil
}
