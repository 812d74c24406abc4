package row

import (
	"encoding/binary"

	"sessionfold/wire"
)

// Event is one timeline row as it is stored: what a read shows of a record
// beside what follows from its source and session. Texts are clean.
type Event struct {
	Offset uint64
	Time   uint64 // raised broker time, µs

	Kind    wire.Kind
	Display wire.Display

	Operation, Agent, Addressee, Tool string

	Correlation    wire.ID
	HasCorrelation bool
	Cause          wire.Locator
	HasCause       bool

	Usage   *wire.Usage
	Reason  string             // why the record is undecodable or invalid
	Actor   string             // the principal whose key verified the record's signature
	Summary []wire.SummaryItem // ascending keys
}

// Pack reads packed rows one after the other. Make it with OpenPack.
type Pack struct {
	r      reader
	all    string // the value once, so that texts are views of it
	offset uint64
	time   uint64
	first  bool
	kind   wire.Kind
	disp   wire.Display

	texts  []string
	ids    []string
	places []string
}

// OpenPack begins to read the pack whose key says that its first row has this
// offset. The value must not change while rows are read; rows share nothing
// with it.
func OpenPack(first uint64, value []byte) *Pack {
	p := &Pack{r: newReader("pack", value), all: string(value), offset: first, first: true}
	p.time = p.r.uint()
	if p.r.err == nil && !p.r.more() {
		p.r.fail("a pack without rows")
	}
	return p
}

// Next reads the next row; false at the end or when the value is damaged, see
// Err.
func (p *Pack) Next(e *Event) bool {
	if !p.r.more() {
		return false
	}
	r := &p.r
	mask := r.mask(rowKnown)
	delta := r.uint()
	if (delta == 0) != p.first {
		r.fail("offsets do not ascend from the key's")
	}
	if p.offset+delta < p.offset {
		r.fail("offset beyond 64 bits")
	}
	p.offset += delta
	p.time += r.uint()
	if mask&rowSameKind == 0 {
		p.kind, p.disp = wire.Kind(r.byte()), wire.Display(r.byte())
	} else if p.first {
		r.fail("the first row refers to the one before")
	}
	p.first = false
	*e = Event{Offset: p.offset, Time: p.time, Kind: p.kind, Display: p.disp}
	p.fields(mask, e)
	return r.err == nil
}

// Err says why Next ended early; nil at the end of the rows.
func (p *Pack) Err() error { return p.r.end() }

func (p *Pack) fields(mask uint64, e *Event) {
	r := &p.r
	if mask&rowOperation != 0 {
		e.Operation = p.text()
	}
	if mask&rowAgent != 0 {
		e.Agent = p.text()
	}
	if mask&rowCorrelation != 0 {
		e.HasCorrelation = true
		copy(e.Correlation[:], p.fixed(&p.ids, 16))
	}
	if mask&rowSummary != 0 {
		e.Summary = p.summary()
	}
	if mask&rowUsage != 0 {
		e.Usage = r.usage()
	}
	if mask&rowTool != 0 {
		e.Tool = p.text()
	}
	if mask&rowAddressee != 0 {
		e.Addressee = p.text()
	}
	if mask&rowCause != 0 {
		e.HasCause = true
		copy(e.Cause[:12], p.fixed(&p.places, 12))
		binary.BigEndian.PutUint64(e.Cause[12:], r.uint())
	}
	if mask&rowReason != 0 {
		e.Reason = p.text()
	}
	if mask&rowVerified != 0 {
		e.Actor = p.text()
	}
}

func (p *Pack) text() string {
	return p.lookup(&p.texts, func() uint64 { return p.r.uint() })
}

func (p *Pack) fixed(d *[]string, size uint64) string {
	return p.lookup(d, func() uint64 { return size })
}

// lookup resolves a reference, or takes the value written out, whose length
// size reads.
func (p *Pack) lookup(d *[]string, size func() uint64) string {
	n := int(p.r.byte())
	if n > len(*d) {
		p.r.fail("reference to a value that has not come yet")
		return ""
	}
	if n > 0 {
		return (*d)[n-1]
	}
	b := p.r.take(size())
	v := p.all[p.r.pos-len(b) : p.r.pos]
	if len(*d) < maxDict && p.r.err == nil {
		*d = append(*d, v)
	}
	return v
}

func (p *Pack) summary() []wire.SummaryItem {
	r := &p.r
	n := r.count(2)
	items := make([]wire.SummaryItem, n)
	for i := range items {
		it := &items[i]
		tag := r.uint()
		if tag>>3 > 255 {
			r.fail("summary key beyond 255")
			return nil
		}
		it.Key, it.Type = wire.SummaryKey(tag>>3), wire.SummaryType(tag&7)
		switch it.Type {
		case wire.SumNumber, wire.SumBool:
			it.Num = r.uint()
		case wire.SumText:
			it.Text = []byte(p.text())
		case wire.SumBytes:
			it.Text = append([]byte(nil), r.bytes()...)
		case wire.SumList:
			it.List = make([][]byte, r.count(1))
			for j := range it.List {
				it.List[j] = []byte(p.text())
			}
		default:
			r.fail("unknown type of a summary entry: written by a later program")
			return nil
		}
	}
	return items
}

func (r *reader) usage() *wire.Usage {
	u := &wire.Usage{Has: wire.UsageHas(r.mask(usageKnown))}
	u.In, u.Out = r.uint(), r.uint()
	for _, f := range usageFields(u) {
		if u.Has&f.bit != 0 {
			*f.n = r.uint()
		}
	}
	return u
}

// PackTime gives the time of a pack's first row without reading the rows.
func PackTime(value []byte) (uint64, bool) {
	r := newReader("pack", value)
	t := r.uint()
	return t, r.err == nil
}
