package wire

import (
	"bytes"
	"crypto/sha256"
	"slices"
)

// maxSummaryList is the most entries of a list in a summary: the first ones of
// the record. A count stands beside the lists that can be longer.
const maxSummaryList = 64

func (d *agdxDecoder) number(k SummaryKey, n uint64) {
	d.items = append(d.items, SummaryItem{Key: k, Type: SumNumber, Num: n})
}

func (d *agdxDecoder) boolean(k SummaryKey, v bool) {
	it := SummaryItem{Key: k, Type: SumBool}
	if v {
		it.Num = 1
	}
	d.items = append(d.items, it)
}

func (d *agdxDecoder) text(k SummaryKey, t []byte) {
	d.items = append(d.items, SummaryItem{Key: k, Type: SumText, Text: t})
}

// word keeps a fixed word of the protocol.
func (d *agdxDecoder) word(k SummaryKey, w string) {
	from := len(d.digests)
	d.digests = append(d.digests, w...)
	d.text(k, d.digests[from:len(d.digests):len(d.digests)])
}

func (d *agdxDecoder) list(k SummaryKey, texts ...[]byte) {
	from := len(d.lists)
	d.lists = append(d.lists, texts...)
	d.items = append(d.items, SummaryItem{Key: k, Type: SumList, List: d.lists[from:len(d.lists):len(d.lists)]})
}

// summary hands out the summary of the record at hand, in ascending order of
// key. There are few entries and most records have none.
func (d *agdxDecoder) summary() []SummaryItem {
	s := d.items[d.from:len(d.items):len(d.items)]
	if len(s) == 0 {
		return nil
	}
	for i := 1; i < len(s); i++ {
		for j := i; j > 0 && s[j].Key < s[j-1].Key; j-- {
			s[j], s[j-1] = s[j-1], s[j]
		}
	}
	return s
}

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
	if names := d.lists[from:]; ok && len(names) > 0 {
		slices.SortFunc(names, bytes.Compare)
		names = slices.CompactFunc(names, bytes.Equal)
		d.lists = d.lists[:from+len(names)]
		d.items = append(d.items, SummaryItem{Key: SumArgKeys, Type: SumList, List: names[:len(names):len(names)]})
	} else {
		d.lists = d.lists[:from]
	}
	sum := sha256.Sum256(body)
	from = len(d.digests)
	d.digests = append(d.digests, sum[:]...)
	d.items = append(d.items, SummaryItem{Key: SumSHA256, Type: SumBytes, Text: d.digests[from:len(d.digests):len(d.digests)]})
	d.number(SumSize, uint64(len(body)))
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

// jsonKeys lists the keys of a JSON object, as views; false when the body is no
// object, and then what was listed means nothing.
func (d *agdxDecoder) jsonKeys(b []byte) bool {
	r := jsonReader{b: b}
	n, from := 0, len(d.lists)
	for r.open('{'); r.more('}', &n); {
		raw := r.key()
		r.skip()
		if !r.bad && len(d.lists)-from < maxSummaryList {
			d.lists = append(d.lists, unquote(raw))
		}
	}
	return r.end()
}

// cborKeys lists the keys of a CBOR map likewise.
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
