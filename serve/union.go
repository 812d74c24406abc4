package serve

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/fxamacker/cbor/v2"

	"sessionfold/index"
	"sessionfold/index/row"
	"sessionfold/wire"
)

// union is one read of a stream whose sources lie on several workers: what the
// read needs is gathered from each before it is looked at. The first gathering
// finds out who holds what; the read goes on with those, and only while they
// hold the same.
type union struct {
	h      *handler
	ctx    context.Context
	stream string
	want   []wire.TopicPartition // that the stream consists of
	rows   *index.Union
	marks  []walkMark // where the walk of the list began
	by     []holder   // who holds something; nil before the first gathering
	owners [8]byte    // of by: binds a cursor
}

// holder is a worker that holds sources of the stream.
type holder struct {
	url      string // "": this one
	instance [16]byte
	store    [8]byte
	held     []heldPart
}

func (p *holder) name() string { return nameOf(p.url) }

func nameOf(url string) string {
	if url == "" {
		return "this worker"
	}
	return url
}

// answer is what came of asking a worker.
type answer struct {
	url   string
	reply *peerReply
	err   error
}

// fetch gathers rows; afterwards the reader has them. The answers are those of
// the workers that hold something.
func (u *union) fetch(q *peerRequest) ([]answer, error) {
	q.Format, q.Asker, q.Stream, q.Walk = peerFormat, u.h.instance, u.stream, u.marks
	body, err := cbor.Marshal(q)
	if err != nil {
		return nil, err
	}
	var got []answer
	if u.by == nil {
		got, err = u.begin(q, body)
	} else {
		got, err = u.again(q, body)
	}
	if err != nil {
		return nil, err
	}
	for i := range got {
		if err := u.take(&got[i]); err != nil {
			return nil, err
		}
	}
	return got, nil
}

// take puts the rows of an answer in. They must be of what its worker holds.
func (u *union) take(a *answer) error {
	of := map[row.SourceID]bool{}
	for _, p := range a.reply.Held {
		of[p.id(u.stream)] = true
	}
	err := rows(a.reply.Rows, func(key, value []byte) error { return u.rows.Put(of, key, value) })
	if err != nil {
		u.h.opt.Logger.WarnContext(u.ctx, "another worker's answer is not taken", "peer", nameOf(a.url), "err", err)
		return wire.Errorf(wire.ErrUnavailable, "stream %q: the answer of %s cannot be used", u.stream, nameOf(a.url))
	}
	return nil
}

// begin asks all workers there are. Those that did not answer lately are waited
// for only while something is missing.
func (u *union) begin(q *peerRequest, body []byte) ([]answer, error) {
	urls, lost := u.h.opt.Peers.urls(u.ctx)
	ctx, cancel := context.WithCancel(u.ctx)
	defer cancel()
	ch := make(chan answer, len(urls)+1)
	trusted, all := 1, len(urls)+1
	doubt := map[string]bool{}
	for _, url := range urls {
		if doubt[url] = u.h.opt.Peers.doubted(url); !doubt[url] {
			trusted++
		}
		go func() { ch <- u.ask(ctx, url, body) }()
	}
	own, err := u.h.share(u.ctx, q)
	ch <- answer{"", own, err}
	var got []answer
	var failed []error
	if lost != nil {
		failed = append(failed, lost)
	}
	for all > 0 && (trusted > 0 || u.whole(got) != nil) {
		var a answer
		select {
		case a = <-ch:
		case <-u.ctx.Done():
			return nil, u.ctx.Err()
		}
		if all--; !doubt[a.url] {
			trusted--
		}
		switch {
		case a.err != nil && a.url == "":
			return nil, a.err
		case a.err != nil:
			failed = append(failed, fmt.Errorf("%s: %w", a.url, a.err))
		case a.reply.Same || slices.ContainsFunc(got, func(b answer) bool { return b.reply.Instance == a.reply.Instance }):
		default:
			got = append(got, a)
		}
	}
	if err := u.whole(got); err != nil {
		if len(failed) > 0 {
			err = fmt.Errorf("%w; no answer of %s", err, strings.ReplaceAll(errors.Join(failed...).Error(), "\n", ", "))
		}
		return nil, wire.Errorf(wire.ErrUnavailable, "stream %q is not whole on the workers that answer: %v", u.stream, err)
	}
	got = slices.DeleteFunc(got, func(a answer) bool { return len(a.reply.Held) == 0 })
	return got, u.plan(got)
}

// ask asks another worker and remembers whether it answered.
func (u *union) ask(ctx context.Context, url string, body []byte) answer {
	r, err := u.h.opt.Peers.ask(ctx, url, u.h.opt.Prefix, body)
	if ctx.Err() == nil { // given up is no sign of failure
		u.h.opt.Peers.note(url, err != nil)
	}
	return answer{url, r, err}
}

// whole says what is wrong with the sum of what workers hold: every partition
// must be held once.
func (u *union) whole(got []answer) error {
	by := map[wire.TopicPartition][]string{}
	restoring := map[wire.TopicPartition]string{}
	for _, a := range got {
		for _, p := range a.reply.Held {
			by[p.at()] = append(by[p.at()], nameOf(a.url))
		}
		for _, tp := range a.reply.Restoring {
			restoring[tp] = nameOf(a.url)
		}
	}
	var wrong []string
	for tp, who := range by {
		if len(who) > 1 {
			slices.Sort(who)
			wrong = append(wrong, fmt.Sprintf("%s (claimed by %s)", tp, strings.Join(who, " and ")))
		}
	}
	for _, tp := range u.want {
		switch who := restoring[tp]; {
		case len(by[tp]) > 0:
		case who != "":
			wrong = append(wrong, fmt.Sprintf("%s (restoring on %s)", tp, who))
		default:
			wrong = append(wrong, fmt.Sprintf("%s (held by none)", tp))
		}
	}
	if len(wrong) == 0 {
		return nil
	}
	slices.Sort(wrong)
	if n := len(wrong) - 5; n > 0 {
		wrong = append(wrong[:5], fmt.Sprintf("and %d more", n))
	}
	return errors.New(strings.Join(wrong, ", "))
}

// plan keeps who holds what for the rest of the read.
func (u *union) plan(got []answer) error {
	slices.SortFunc(got, func(a, b answer) int { return cmp.Compare(string(a.reply.Store[:]), string(b.reply.Store[:])) })
	stale := false
	var marks []walkMark
	var parts []string
	for i, a := range got {
		r := a.reply
		if i > 0 && r.Store == got[i-1].reply.Store {
			return wire.Errorf(wire.ErrUnavailable, "the stores of %s and %s are copies of one; give each worker its own", nameOf(a.url), nameOf(got[i-1].url))
		}
		stale = stale || r.Stale
		u.by = append(u.by, holder{a.url, r.Instance, r.Store, r.Held})
		marks = append(marks, walkMark{r.Store, r.Seq})
		parts = append(parts, owned(r.Store, r.Held)...)
	}
	u.owners = binding(parts...)
	if stale || u.marks != nil && len(u.marks) != len(marks) {
		return errWalkMoved
	}
	u.marks = marks
	return nil
}

// owned is what a worker holds, as a cursor is bound to it.
func owned(store [8]byte, held []heldPart) []string {
	out := []string{string(store[:])}
	for _, p := range held {
		out = append(out, fmt.Sprint(p))
	}
	return out
}

var errWalkMoved = wire.Errorf(wire.ErrStale, "cursor: partitions moved between workers since the walk began, or one of them lost its state; start again without it")

// again asks those that hold something. They must hold what they held.
func (u *union) again(q *peerRequest, body []byte) ([]answer, error) {
	ctx, cancel := context.WithCancel(u.ctx)
	defer cancel()
	got := make([]answer, len(u.by))
	done := make(chan int, len(u.by))
	for i := range u.by {
		go func() {
			if u.by[i].url == "" {
				r, err := u.h.share(ctx, q)
				got[i] = answer{"", r, err}
			} else {
				got[i] = u.ask(ctx, u.by[i].url, body)
			}
			done <- i
		}()
	}
	var failed error
	for range u.by {
		i := <-done
		p, a := &u.by[i], &got[i]
		switch {
		case failed != nil:
		case a.err != nil && p.url == "":
			failed = a.err
		case a.err != nil:
			failed = wire.Errorf(wire.ErrUnavailable, "stream %q is not whole on the workers that answer: no answer of %s: %v", u.stream, p.name(), a.err)
		case a.reply.Stale || a.reply.Instance != p.instance || a.reply.Store != p.store || !slices.Equal(a.reply.Held, p.held):
			failed = errMoved
		}
		if failed != nil {
			cancel() // the others need not go on; they are waited for
		}
	}
	return got, failed
}
