package serve

import (
	"bufio"
	"context"
	"crypto/sha256"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"pgregory.net/rapid"

	"sessionfold/wire"
)

// changeTopic is an output topic in memory, with what a real one has: rows that
// are gone, positions without a row, an end that may go back, and failures.
type changeTopic struct {
	mu    sync.Mutex
	floor uint64
	end   uint64
	rows  []uint64 // seq
	ever  []uint64 // of the test: with those that are gone
	fault error
	once  map[uint64]error // for the next read behind a position
	reads int
}

func (c *changeTopic) read(_ context.Context, _ string, after uint64, limit int) (wire.SessionChanges, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.reads++
	out := wire.SessionChanges{Floor: c.floor, Next: after}
	switch {
	case c.fault != nil:
		return out, c.fault
	case c.once[after] != nil:
		err := c.once[after]
		delete(c.once, after)
		return out, err
	case after < c.floor:
		out.Resync = true
		return out, nil
	case after > c.end:
		out.Next = c.end
		return out, nil
	}
	for _, seq := range c.rows {
		if seq <= after {
			continue
		}
		if len(out.Rows) == limit {
			return out, nil
		}
		out.Rows = append(out.Rows, wire.SessionChangeRow{Seq: seq, Sessions: wire.List[wire.ID]{{15: byte(seq)}}})
		out.Next = seq
	}
	out.Next = c.end
	return out, nil
}

func (c *changeTopic) change(do func()) {
	c.mu.Lock()
	defer c.mu.Unlock()
	do()
}

// write adds rows, and behind them positions that hold none.
func (c *changeTopic) write(rows, holes int) {
	c.change(func() {
		for range rows {
			c.end++
			c.rows, c.ever = append(c.rows, c.end), append(c.ever, c.end)
		}
		c.end += uint64(holes)
	})
}

// retain drops the rows up to a seq.
func (c *changeTopic) retain(floor uint64) {
	c.change(func() {
		c.floor = max(c.floor, floor)
		c.rows = slices.DeleteFunc(c.rows, func(seq uint64) bool { return seq <= c.floor })
	})
}

// first is the first row behind a position that ever was.
func (c *changeTopic) first(after uint64) (seq uint64, ok bool) {
	i, _ := slices.BinarySearch(c.ever, after+1)
	if i == len(c.ever) {
		return 0, false
	}
	return c.ever[i], true
}

// liveRig is a worker's reads behind a real listener.
type liveRig struct {
	t     testing.TB
	topic *changeTopic
	h     *handler
	url   string
	token string
	stop  func() error // the server, as a worker stops it
}

func newLive(t testing.TB, set func(*Options, *http.Server)) *liveRig {
	topic := &changeTopic{}
	w := newWorld(t)
	w.opt.Changes = topic.read
	srv := NewServer(nil, slog.New(slog.DiscardHandler))
	if set != nil {
		set(&w.opt, srv)
	}
	h, err := newHandler(w.opt)
	if err != nil {
		t.Fatal(err)
	}
	srv.Handler = h.handler()
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	ended := make(chan error, 1)
	go func() { ended <- Serve(ctx, srv, ln, time.Hour) }()
	r := &liveRig{t: t, topic: topic, h: h, url: "http://" + ln.Addr().String() + "/agdx/sessions/" + stream + "/live"}
	r.stop = sync.OnceValue(func() error { cancel(); return <-ended })
	t.Cleanup(func() {
		if err := r.stop(); err != nil {
			t.Error(err)
		}
	})
	return r
}

// sse is one server-sent event, or a comment.
type sse struct{ id, event, data, comment string }

// follower is a client of live.
type follower struct {
	t    testing.TB
	body *bufio.Reader
	end  func()
	id   string // of the last event
}

// follow connects; lastID is empty at the first time.
func (r *liveRig) follow(query, lastID string) *follower {
	r.t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	req, err := http.NewRequestWithContext(ctx, "GET", r.url+query, nil)
	if err != nil {
		r.t.Fatal(err)
	}
	if r.token != "" {
		req.Header.Set("Authorization", "Bearer "+r.token)
	}
	if lastID != "" {
		req.Header.Set("Last-Event-ID", lastID)
	}
	res, err := http.DefaultClient.Do(req)
	if err != nil {
		r.t.Fatal(err)
	}
	f := &follower{t: r.t, body: bufio.NewReader(res.Body), end: sync.OnceFunc(func() { cancel(); _ = res.Body.Close() }), id: lastID}
	r.t.Cleanup(f.end)
	if res.StatusCode != 200 || res.Header.Get("Content-Type") != "text/event-stream" {
		r.t.Fatalf("%d %v", res.StatusCode, res.Header)
	}
	if first := f.read(); first != (sse{id: first.id}) || first.id == "" {
		r.t.Fatalf("it begins with %+v", first)
	}
	return f
}

// read gives the next event or comment.
func (f *follower) read() (e sse) {
	f.t.Helper()
	for {
		line, err := f.body.ReadString('\n')
		if err != nil {
			f.t.Fatalf("after %+v: %v", e, err)
		}
		name, value, _ := strings.Cut(strings.TrimSuffix(line, "\n"), ": ")
		switch {
		case line == "\n":
			if e.id != "" {
				f.id = e.id
			}
			return e
		case strings.HasPrefix(line, ": "):
			e.comment = value
		case name == "id":
			e.id = value
		case name == "event":
			e.event = value
		case name == "data":
			e.data = value
		case name == "retry":
		default:
			f.t.Fatalf("line %q", line)
		}
	}
}

// row reads on to the next row and gives its seq.
func (f *follower) row() uint64 {
	f.t.Helper()
	e := f.read()
	for e.comment == "heartbeat" {
		e = f.read()
	}
	var row wire.SessionChangeRow
	if err := json.Unmarshal([]byte(e.data), &row); err != nil || e.event != "" || e.comment != "" || e.id != fmt.Sprint(row.Seq) ||
		len(row.Sessions) != 1 || row.Sessions[0][15] != byte(row.Seq) {
		f.t.Fatalf("%+v is no row: %v", e, err)
	}
	return row.Seq
}

func (f *follower) wants(seqs ...uint64) {
	f.t.Helper()
	for _, want := range seqs {
		if got := f.row(); got != want {
			f.t.Fatalf("row %d, want %d", got, want)
		}
	}
}

// Rows come as they are committed: from now on, from a position, or behind what
// was seen.
func TestLive(t *testing.T) {
	r := newLive(t, nil)
	r.topic.write(2, 1) // 1 2 -
	now, all := r.follow("", ""), r.follow("?after=0", "")
	all.wants(1, 2)
	r.topic.write(2, 0) // 4 5
	now.wants(4, 5)
	all.wants(4, 5)
	seen := now.id
	now.end()
	r.topic.write(1, 3) // 6
	all.wants(6)
	again := r.follow("?after=0", seen) // the header is of later knowledge than the address
	again.wants(6)
	again.end()
	all.end()
	// Nobody follows for a while.
	r.topic.write(2, 0) // 10 11
	r.follow("", again.id).wants(10, 11)
	// Between two rows nothing is: the position is behind the hole.
	r.topic.write(0, 1)
	if f := r.follow("", ""); f.id != "12" {
		t.Errorf("it begins at %s", f.id)
	}
}

// Many who follow read the topic once: each row is waited for by all, so that
// readings of their own would be as many as rows times clients.
func TestLiveReadsOnceForAll(t *testing.T) {
	r := newLive(t, nil)
	const clients, rows = 50, 10
	var all []*follower
	for range clients {
		all = append(all, r.follow("", ""))
	}
	before := 0
	r.topic.change(func() { before = r.topic.reads })
	for seq := range uint64(rows) {
		r.topic.write(1, 0)
		for _, f := range all {
			f.wants(seq + 1)
		}
	}
	r.topic.change(func() {
		if n := r.topic.reads - before; n > clients*rows/2 {
			t.Errorf("%d readings for %d rows and %d clients", n, rows, clients)
		}
	})
}

// What is missing is said: rows below the floor, and a topic that ends before
// what the client has seen.
func TestLiveResync(t *testing.T) {
	r := newLive(t, nil)
	r.topic.write(10, 0)
	r.topic.retain(6)
	resync := func(f *follower, floor int) {
		t.Helper()
		if e, want := f.read(), (sse{id: fmt.Sprint(floor), event: "resync", data: fmt.Sprintf(`{"floor":%d}`, floor)}); e != want {
			t.Errorf("%+v, want %+v", e, want)
		}
	}
	f := r.follow("?after=3", "")
	resync(f, 6)
	f.wants(7, 8, 9, 10)
	resync(r.follow("", "5"), 6)
	r.follow("", "6").wants(7)
	ahead := r.follow("", "4000")
	resync(ahead, 10)
	r.topic.write(1, 0)
	ahead.wants(11)
	f.wants(11)
	// The topic is made anew.
	r.topic.change(func() { r.topic.floor, r.topic.end, r.topic.rows = 0, 0, nil })
	resync(f, 0)
	resync(ahead, 0)
	r.topic.write(1, 0)
	f.wants(1)
	ahead.wants(1)
	// Rows go faster than they are read.
	r.topic.change(func() { r.topic.floor, r.topic.end, r.topic.rows = 20, 21, []uint64{21} })
	resync(f, 20)
	f.wants(21)
}

// A topic that cannot be read is said, and its rows come when it can be again.
func TestLiveWhileTheTopicFails(t *testing.T) {
	r := newLive(t, func(o *Options, _ *http.Server) { o.Heartbeat = time.Hour })
	r.topic.write(3, 0)
	f, behind := r.follow("", ""), r.follow("?after=2", "")
	behind.wants(3)
	r.topic.change(func() { r.topic.fault = errors.New("the broker is away") })
	for _, f := range []*follower{f, behind} {
		if e := f.read(); e.comment != "the output topic cannot be read right now" {
			t.Errorf("%+v", e)
		}
	}
	res, err := http.Get(r.url)
	if err != nil {
		t.Fatal(err)
	}
	defer res.Body.Close()
	if res.StatusCode != 503 {
		t.Errorf("a new client: %d", res.StatusCode)
	}
	r.topic.change(func() { r.topic.fault = nil })
	r.topic.write(2, 0)
	f.wants(4, 5)
	behind.wants(4, 5)
	// The end can be read, and what lies before it cannot, for a moment.
	r.topic.change(func() { r.topic.once = map[uint64]error{1: errors.New("the leader moves")} })
	behind = r.follow("?after=1", "")
	if e := behind.read(); e.comment == "" {
		t.Errorf("%+v", e)
	}
	behind.wants(2, 3, 4, 5)
}

// A silent stream shows that it lives, also longer than a server lets answers
// that end take.
func TestLiveHeartbeat(t *testing.T) {
	beat := 5 * time.Millisecond
	r := newLive(t, func(o *Options, s *http.Server) {
		o.Heartbeat, s.ReadTimeout, s.WriteTimeout = beat, 4*beat, 4*beat
	})
	f := r.follow("", "")
	for range 40 {
		if e := f.read(); e != (sse{comment: "heartbeat", id: "0"}) {
			t.Fatalf("%+v", e)
		}
	}
	r.topic.write(0, 7) // rows of other streams, or of none
	for f.id != "7" {
		f.read()
	}
	r.topic.write(1, 0)
	f.wants(8)
}

// A server that stops does not wait for those who follow.
func TestLiveEndsWithTheServer(t *testing.T) {
	r := newLive(t, nil)
	f := r.follow("", "")
	if err := r.stop(); err != nil {
		t.Fatal(err)
	}
	if _, err := f.body.ReadByte(); err == nil {
		t.Error("it goes on")
	}
	if n := r.h.following.Load(); n != 0 {
		t.Errorf("%d clients follow", n)
	}
}

// Who follows with a token that is withdrawn is cut off.
func TestLiveEndsWithItsToken(t *testing.T) {
	tokens := func(token string) *Tokens {
		toks, err := ParseTokens(strings.NewReader(fmt.Sprintf("%x session:read stream:%s\n", sha256.Sum256([]byte(token)), stream)))
		if err != nil {
			t.Fatal(err)
		}
		return toks
	}
	toks := tokens("first")
	r := newLive(t, func(o *Options, _ *http.Server) { o.Tokens, o.Heartbeat = toks, 5*time.Millisecond })
	r.token = "first"
	f := r.follow("", "")
	r.topic.write(1, 0)
	f.wants(1)
	toks.Replace(tokens("second"))
	if _, err := io.Copy(io.Discard, f.body); err != nil {
		t.Error(err)
	}
	r.token = "second"
	r.follow("", "0").wants(1)
}

// A worker has room for so many who follow; who leaves makes room.
func TestLiveIsBounded(t *testing.T) {
	left := make(chan struct{}, MaxLive)
	r := newLive(t, func(o *Options, _ *http.Server) {
		o.Observe = func(_ string, status int, _ time.Duration) {
			if status == 200 {
				left <- struct{}{}
			}
		}
	})
	var all []*follower
	for range MaxLive {
		all = append(all, r.follow("", ""))
	}
	res, err := http.Get(r.url)
	if err != nil {
		t.Fatal(err)
	}
	defer res.Body.Close()
	var b body
	if err := json.NewDecoder(res.Body).Decode(&b); err != nil || res.StatusCode != 503 || !strings.Contains(b.Message, "100 clients") {
		t.Fatalf("%d %+v %v", res.StatusCode, b, err)
	}
	all[0].end()
	<-left
	f := r.follow("", "")
	r.topic.write(1, 0)
	f.wants(1)
	all[1].wants(1)
}

func TestLiveRefuses(t *testing.T) {
	w := newWorld(t)
	live := "/agdx/sessions/" + stream + "/live"
	w.fails(501, "unsupported", live)
	w.opt.Changes = (&changeTopic{}).read
	w.serve()
	w.fails(400, "invalid_argument", live, "Last-Event-ID", "x")
	w.fails(400, "invalid_argument", live+"?after=-1")
	w.fails(400, "invalid_argument", live+"?limit=3")
	w.fails(404, "not_found", "/agdx/sessions/nosuch/live")
	if rec := w.request("HEAD", live, nil); rec.Code != 200 || rec.Body.Len() != 0 {
		t.Errorf("HEAD: %d %s", rec.Code, rec.Body)
	}
	if rec := w.request("POST", live, nil); rec.Code != 405 {
		t.Errorf("POST: %d", rec.Code)
	}
	toks, err := ParseTokens(strings.NewReader(strings.Repeat("0", 64) + " session:read stream:" + stream + "\n"))
	if err != nil {
		t.Fatal(err)
	}
	w.opt.Tokens = toks
	w.serve()
	w.fails(401, "unauthenticated", live)
}

// Whatever comes meanwhile, who follows gets every row once and in order, or is
// told from where on rows are missing; at every pace, with every length of what
// a tail keeps, and over any number of connections.
func TestLiveLosesNothing(t *testing.T) {
	checks(t, 30)
	rapid.Check(t, func(rt *rapid.T) {
		r := newLive(t, nil)
		defer func() { _ = r.stop() }()
		r.h.tails[stream].keep = rapid.SampledFrom([]int{0, 200, 2000, tailBytes}).Draw(rt, "keep")
		at := make([]uint64, rapid.IntRange(1, 3).Draw(rt, "clients"))
		on := make([]*follower, len(at))
		for range rapid.IntRange(1, 25).Draw(rt, "steps") {
			switch rapid.IntRange(0, 5).Draw(rt, "step") {
			case 0, 1:
				r.topic.write(rapid.IntRange(0, 30).Draw(rt, "rows"), rapid.IntRange(0, 3).Draw(rt, "holes"))
			case 2:
				r.topic.retain(rapid.Uint64Range(0, r.topic.end).Draw(rt, "floor"))
			default:
				i := rapid.IntRange(0, len(at)-1).Draw(rt, "client")
				if on[i] != nil && rapid.Bool().Draw(rt, "leave") {
					on[i].end()
					on[i] = nil
					continue
				}
				if on[i] == nil {
					on[i] = r.follow("", fmt.Sprint(at[i]))
				}
				at[i] = on[i].takes(rt, r.topic, at[i], rapid.IntRange(0, 20).Draw(rt, "reads"))
			}
		}
		for i, f := range on {
			if f != nil {
				f.takes(rt, r.topic, at[i], 1<<30)
			}
		}
	})
}

// takes reads some of the rows behind a position and gives the one it has come
// to.
func (f *follower) takes(rt *rapid.T, topic *changeTopic, at uint64, n int) uint64 {
	for ; n > 0; n-- {
		want, more := topic.first(at)
		if !more {
			return at
		}
		e := f.read()
		seq := uint64(0)
		if _, err := fmt.Sscan(e.id, &seq); err != nil || e.data == "" {
			rt.Fatalf("%+v, want row %d", e, want)
		}
		// Rows that were read before they were dropped still come.
		if e.event == "" && seq != want || e.event != "" && (seq <= at || seq > topic.floor) {
			rt.Fatalf("%+v, want row %d; the floor is %d", e, want, topic.floor)
		}
		at = seq
	}
	return at
}
