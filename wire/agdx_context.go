package wire

import "strconv"

// refs is what a context record refers to.
type refs struct {
	count  uint64   // of the referenced items
	ids    [][]byte // at most maxSummaryList, or all
	scores [][]byte // beside the first ids, when the record has scores
	whole  bool     // keep all ids

	readable bool
}

func (f *refs) add(id []byte) {
	f.count++
	if f.whole || len(f.ids) < maxSummaryList {
		f.ids = append(f.ids, id)
	}
}

// openBody gives a body as CBOR, whichever of CBOR and JSON it is written in.
func (d *agdxDecoder) openBody(h *agdxHeaders) (r cborReader, ok bool) {
	switch d.format(h) {
	case ContentCBOR:
		return cborReader{b: d.env.Body}, true
	case ContentJSON:
		b, ok := cborOf(d.env.Body)
		return cborReader{b: b, depth: maxCBORNesting - maxJSONNesting}, ok // JSON may nest deeper
	}
	return r, false
}

// context keeps references, ids and scores of a context record. A body that
// cannot be read gives nothing.
func (d *agdxDecoder) context(h *agdxHeaders, read func(*cborReader, *refs)) {
	if d.readContext(h, read) {
		d.references()
	}
}

// readContext reads what a context record refers to.
func (d *agdxDecoder) readContext(h *agdxHeaders, read func(*cborReader, *refs)) bool {
	r, ok := d.openBody(h)
	if !ok {
		return false
	}
	read(&r, &d.refs)
	if r.end() != nil {
		return false
	}
	d.refs.readable = true
	return true
}

// references puts what was read into the summary.
func (d *agdxDecoder) references() {
	f := &d.refs
	if !f.readable {
		return
	}
	d.number(SumItems, f.count)
	if ids := f.ids[:min(len(f.ids), maxSummaryList)]; len(ids) > 0 {
		d.list(SumRefs, ids...)
	}
	if len(f.scores) > 0 {
		d.list(SumScores, f.scores...)
	}
}

// readRetrieved reads {query?, items: [(id, score)]}. The query is content.
func readRetrieved(r *cborReader, f *refs) {
	var seen int
	for m := r.open(majorMap); r.more(&m); {
		if string(r.key()) != "items" {
			r.skip()
			continue
		}
		*f, seen = refs{whole: f.whole}, 1
		for l := r.open(majorArray); r.more(&l); {
			readScored(r, f)
		}
	}
	if seen == 0 {
		r.fail(errCBORMissing)
	}
}

func readScored(r *cborReader, f *refs) {
	n := 0
	for l := r.open(majorArray); r.more(&l); n++ {
		switch n {
		case 0:
			f.add(r.memoryID())
		case 1:
			if score := r.number(); len(f.scores) < maxSummaryList {
				f.scores = append(f.scores, formatFloat(score))
			}
		default:
			r.skip()
		}
	}
	if n < 2 {
		r.fail(errCBORMissing)
	}
}

// readAssembled reads the fragments of a context manifest: [{Tag: {…}}].
func readAssembled(r *cborReader, f *refs) {
	for m := r.open(majorMap); r.more(&m); {
		if string(r.key()) != "fragments" {
			r.skip()
			continue
		}
		*f = refs{}
		for l := r.open(majorArray); r.more(&l); {
			for t := r.open(majorMap); r.more(&t); {
				f.add(readRef(r, string(r.key())))
			}
		}
	}
}

// readCompacted reads {summary_at, covered: […]}.
func readCompacted(r *cborReader, f *refs) {
	var covered uint64
	for m := r.open(majorMap); r.more(&m); {
		switch string(r.key()) {
		case "summary_at":
			f.ids = nil
			for t := r.open(majorMap); r.more(&t); {
				f.add(readRef(r, string(r.key())))
			}
		case "covered":
			covered = 0
			for l := r.open(majorArray); r.more(&l); covered++ {
				r.skip()
			}
		default:
			r.skip()
		}
	}
	f.count = covered
}

// readRef reads the fields behind a reference's tag and gives its name: ids and
// positions only.
func readRef(r *cborReader, tag string) []byte {
	var id, space []byte
	var topic, partition, offset uint64
	nested := []byte(nil)
	for m := r.open(majorMap); r.more(&m); {
		switch string(r.key()) {
		case "id", "key":
			id = r.memoryID()
		case "namespace":
			space = r.text()
		case "topic":
			topic = r.uint(1<<32 - 1)
		case "partition":
			partition = r.uint(1<<32 - 1)
		case "offset":
			offset = r.uint(1<<64 - 1)
		case "at":
			for t := r.open(majorMap); r.more(&t); {
				nested = readRef(r, string(r.key()))
			}
		default:
			r.skip()
		}
	}
	switch {
	case nested != nil:
		return nested
	case tag == "Message":
		b := strconv.AppendUint([]byte("message:"), topic, 10)
		b = strconv.AppendUint(append(b, '/'), partition, 10)
		return strconv.AppendUint(append(b, '@'), offset, 10)
	case tag == "Kv":
		return append(append(append([]byte("kv:"), space...), '/'), id...)
	case tag == "Memory":
		return append([]byte("memory:"), id...)
	case tag == "State":
		return append([]byte("state:"), id...)
	}
	return []byte("unrecognized")
}
