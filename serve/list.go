package serve

import (
	"errors"

	"sessionfold/fold"
	"sessionfold/index"
	"sessionfold/wire"
)

// ctxEvery is how many sessions pass between two looks whether the client still
// waits.
const ctxEvery = 256

// list gives a page of the stream's sessions, newest position first.
func (v *view) list(q *wire.SessionList) (*wire.SessionPage, error) {
	f, err := filterOf(q)
	if err != nil {
		return nil, err
	}
	limit, err := limitOf(q.Limit)
	if err != nil {
		return nil, err
	}
	bound := binding(append([]string{"list", v.stream.Name}, f.parts()...)...)
	var from index.Cursor
	if q.Cursor != nil {
		if from, err = v.openList(bound, *q.Cursor); err != nil {
			return nil, err
		}
	}
	w, err := v.walk(from, wholeParts, limit+1)
	if errors.Is(err, index.ErrStale) {
		return nil, wire.Errorf(wire.ErrStale, "cursor: the walk began on another state of the index; start again without it")
	}
	if err != nil {
		return nil, err
	}
	page, begin, err := v.fillPage(w, &f, bound, limit)
	if err = errors.Join(err, w.Close()); err != nil {
		return nil, err
	}
	if q.WantTotal {
		if page.Total, err = v.count(begin, &f); err != nil {
			return nil, err
		}
	}
	return page, nil
}

// fillPage takes sessions until the page is full, the walk ends, or the search
// budget is spent. There is a cursor when the walk has not ended. begin is the
// walk's beginning.
func (v *view) fillPage(w walker, f *filter, bound [8]byte, limit int) (page *wire.SessionPage, begin index.Cursor, err error) {
	page = &wire.SessionPage{Items: make([]wire.SessionInfo, 0, limit)}
	at := w.Cursor()
	begin = index.Cursor{Identity: at.Identity, Seq: at.Seq}
	more := w.Next()
	for n := 0; more; n++ {
		if len(page.Items) == limit {
			break
		}
		if w.Looked() > v.h.opt.SearchBudget {
			page.Truncated = true
			break
		}
		if n%ctxEvery == 0 && v.ctx.Err() != nil {
			return nil, begin, v.ctx.Err()
		}
		if s := fold.Merge(w.Session()); s != nil && f.match(s) {
			info, err := v.whole(s)
			if err != nil {
				return nil, begin, err
			}
			page.Items = append(page.Items, info)
		}
		at, more = w.Cursor(), w.Next()
	}
	if err := w.Err(); err != nil {
		return nil, begin, err
	}
	searched := uint64(w.Looked())
	if more {
		searched-- // the last one was looked at only to know that there is one
		page.Cursor, err = v.sealList(bound, at)
	}
	page.Searched = &searched
	return page, begin, err
}

// count gives how many sessions of the walk match; nil when there are more than
// the budget allows to look at.
func (v *view) count(begin index.Cursor, f *filter) (*uint64, error) {
	budget := v.h.opt.CountBudget
	if v.union != nil {
		budget = min(budget, v.h.opt.SearchBudget) // what is counted comes over the network
	}
	w, err := v.walk(begin, 0, budget)
	if err != nil {
		return nil, err
	}
	var total uint64
	for n := 0; w.Next(); n++ {
		if w.Looked() > budget {
			return nil, w.Close()
		}
		if n%ctxEvery == 0 && v.ctx.Err() != nil {
			return nil, errors.Join(v.ctx.Err(), w.Close())
		}
		if f.any() {
			total++
		} else if s := fold.Merge(w.Session()); s != nil && f.match(s) {
			total++
		}
	}
	if err := errors.Join(w.Err(), w.Close()); err != nil {
		return nil, err
	}
	return &total, nil
}
