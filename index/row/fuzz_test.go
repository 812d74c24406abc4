package row

import (
	"bytes"
	"errors"
	"testing"

	"sessionfold/fold"
	"sessionfold/fold/state"
)

// seeds are the values of the golden step with one of the tag.
func seeds(f *testing.F, tag byte) {
	for _, op := range goldenBatch().Ops {
		if op.Key[0] == tag {
			f.Add(op.Value)
		}
	}
	f.Add([]byte{})
	f.Add([]byte{Version})
	f.Add(bytes.Repeat([]byte{0xff}, 40))
}

// positioned: every refusal says where.
func positioned(t *testing.T, err error) {
	if e := (*Error)(nil); !errors.As(err, &e) || e.What == "" || e.Why == "" {
		t.Errorf("error without a position: %v", err)
	}
}

func FuzzPartial(f *testing.F) {
	seeds(f, TagPartial)
	for _, op := range goldenNative().Ops {
		if op.Key[0] == TagPartial {
			f.Add(op.Value)
		}
	}
	f.Fuzz(func(t *testing.T, b []byte) {
		p, err := DecodePartial(b)
		if err != nil {
			positioned(t, err)
		} else if again := AppendPartialValue(nil, p); !bytes.Equal(again, b) {
			t.Errorf("%x decodes, and encodes again as %x", b, again)
		}
	})
}

func FuzzSourceMeta(f *testing.F) {
	seeds(f, TagSource)
	f.Fuzz(func(t *testing.T, b []byte) {
		m, err := DecodeSourceMeta(b)
		if err != nil {
			positioned(t, err)
		} else if again := AppendSourceMeta(nil, &m); !bytes.Equal(again, b) {
			t.Errorf("%x decodes, and encodes again as %x", b, again)
		}
	})
}

func FuzzLinks(f *testing.F) {
	seeds(f, TagLinks)
	f.Fuzz(func(t *testing.T, b []byte) {
		l, err := DecodeLinks(b)
		if err != nil {
			positioned(t, err)
		} else if again := AppendLinksValue(nil, l); !bytes.Equal(again, b) {
			t.Errorf("%x decodes, and encodes again as %x", b, again)
		}
	})
}

func FuzzLocal(f *testing.F) {
	f.Add(AppendLocalValue(nil, &Local{ChangelogNext: 7, Holes: []Span{{1, 2}}}))
	f.Fuzz(func(t *testing.T, b []byte) {
		l, err := DecodeLocal(b)
		if err != nil {
			positioned(t, err)
		} else if again := AppendLocalValue(nil, &l); !bytes.Equal(again, b) {
			t.Errorf("%x decodes, and encodes again as %x", b, again)
		}
	})
}

func FuzzPack(f *testing.F) {
	seeds(f, TagPack)
	f.Fuzz(func(t *testing.T, b []byte) {
		p := OpenPack(1000, b)
		last := uint64(999)
		for e := (Event{}); p.Next(&e); last = e.Offset {
			if e.Offset <= last {
				t.Fatalf("offset %d behind %d", e.Offset, last)
			}
		}
		if err := p.Err(); err != nil {
			positioned(t, err)
		}
	})
}

func FuzzBatch(f *testing.F) {
	seeds(f, TagBatch)
	f.Fuzz(func(t *testing.T, b []byte) {
		p, err := DecodePacks(995, b)
		if err != nil {
			positioned(t, err)
			return
		}
		again := appendPacksHead(nil, 995, p.To)
		for _, ref := range p.Packs {
			again = appendPackRef(again, 995, ref)
		}
		if !bytes.Equal(again, b) {
			t.Errorf("%x decodes, and encodes again as %x", b, again)
		}
	})
}

func FuzzKeys(f *testing.F) {
	for _, op := range goldenBatch().Ops {
		f.Add(op.Key)
	}
	f.Fuzz(func(t *testing.T, b []byte) {
		_ = Describe(b)
		if k, err := ParsePartial(b); err == nil && !bytes.Equal(AppendPartial(nil, k), b) {
			t.Errorf("partial key %x", b)
		}
		if k, err := ParsePack(b); err == nil && !bytes.Equal(AppendPack(nil, k), b) {
			t.Errorf("pack key %x", b)
		}
		if k, err := ParseBatch(b); err == nil && !bytes.Equal(AppendBatch(nil, k), b) {
			t.Errorf("batch key %x", b)
		}
		if k, err := ParseSlot(b); err == nil && !bytes.Equal(AppendBase(nil, k), b) && !bytes.Equal(AppendLog(nil, k), b) {
			t.Errorf("slot key %x", b)
		}
		if k, slot, err := ParseHistory(b); err == nil && slot < state.HistoryLen && !bytes.Equal(AppendHistory(nil, k, uint64(slot)), b) {
			t.Errorf("history key %x", b)
		}
		if k, err := ParseLinks(b); err == nil && !bytes.Equal(AppendLinks(nil, k), b) {
			t.Errorf("links key %x", b)
		}
		if k, err := ParseChild(b); err == nil && !bytes.Equal(AppendChild(nil, k), b) {
			t.Errorf("child key %x", b)
		}
		if k, err := ParseList(b); err == nil && !bytes.Equal(AppendList(nil, k), b) {
			t.Errorf("list key %x", b)
		}
	})
}

func FuzzChunk(f *testing.F) {
	for _, op := range goldenNative().Ops {
		if k, err := ParseChunk(op.Key); err == nil {
			f.Add(k.List, k.Slot, op.Value)
		}
	}
	f.Fuzz(func(t *testing.T, list, slot byte, b []byte) {
		k, err := ParseChunk(AppendChunk(nil, ChunkKey{List: list, Slot: slot}))
		if err != nil {
			return
		}
		if err := CheckChunk(k, b); err != nil {
			positioned(t, err)
			return
		}
		r := newReader("chunk", b)
		p := &fold.Partial{Native: &fold.Native{Audit: &fold.Audit{}}}
		*lengthOf(p, list) = r.uint() + r.uint()
		if err := ReadChunk(p, k, b); err != nil {
			t.Fatal(err)
		}
		if again := AppendChunkValue(nil, p, k); !bytes.Equal(again, b) {
			t.Errorf("%x decodes, and encodes again as %x", b, again)
		}
	})
}
