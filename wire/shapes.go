package wire

import (
	"bytes"
	"crypto/sha256"
	"slices"
)

// maxSummaryList is the most entries of a list in a summary: the first ones of
// the record. A count stands beside the lists that can be longer.
const maxSummaryList = 64

// shapes is the memory in which a decoder makes summaries: slabs that the next
// Decode reuses. Growing one leaves what was handed out where it is.
type shapes struct {
	items   []SummaryItem
	lists   [][]byte
	digests []byte
	from    int // in items: where the summary of the record at hand begins
}

func (d *shapes) reset() { d.items, d.lists, d.digests = d.items[:0], d.lists[:0], d.digests[:0] }

func (d *shapes) number(k SummaryKey, n uint64) {
	d.items = append(d.items, SummaryItem{Key: k, Type: SumNumber, Num: n})
}

func (d *shapes) boolean(k SummaryKey, v bool) {
	it := SummaryItem{Key: k, Type: SumBool}
	if v {
		it.Num = 1
	}
	d.items = append(d.items, it)
}

func (d *shapes) text(k SummaryKey, t []byte) {
	d.items = append(d.items, SummaryItem{Key: k, Type: SumText, Text: t})
}

// word keeps a fixed word of the protocol.
func (d *shapes) word(k SummaryKey, w string) {
	from := len(d.digests)
	d.digests = append(d.digests, w...)
	d.text(k, d.digests[from:len(d.digests):len(d.digests)])
}

func (d *shapes) list(k SummaryKey, texts ...[]byte) {
	from := len(d.lists)
	d.lists = append(d.lists, texts...)
	d.items = append(d.items, SummaryItem{Key: k, Type: SumList, List: d.lists[from:len(d.lists):len(d.lists)]})
}

// summary hands out the summary of the record at hand, in ascending order of
// key. There are few entries and most records have none.
func (d *shapes) summary() []SummaryItem {
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

// jsonKeys lists the keys of a JSON object, as views; false when the body is no
// object, and then what was listed means nothing.
func (d *shapes) jsonKeys(b []byte) bool {
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

// argumentKeys keeps the names that were listed from an index on: sorted, each
// once, or none of them when they are not to be relied on.
func (d *shapes) argumentKeys(from int, ok bool) {
	names := d.lists[from:]
	if !ok || len(names) == 0 {
		d.lists = d.lists[:from]
		return
	}
	slices.SortFunc(names, bytes.Compare)
	names = slices.CompactFunc(names, bytes.Equal)
	d.lists = d.lists[:from+len(names)]
	d.items = append(d.items, SummaryItem{Key: SumArgKeys, Type: SumList, List: names[:len(names):len(names)]})
}

// digest keeps size and SHA-256 of content.
func (d *shapes) digest(content []byte) {
	sum := sha256.Sum256(content)
	from := len(d.digests)
	d.digests = append(d.digests, sum[:]...)
	d.items = append(d.items, SummaryItem{Key: SumSHA256, Type: SumBytes, Text: d.digests[from:len(d.digests):len(d.digests)]})
	d.number(SumSize, uint64(len(content)))
}
