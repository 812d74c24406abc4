package serve

import (
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"net/url"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/fxamacker/cbor/v2"

	"sessionfold/wire"
)

// small is a group of two with a few sessions, and the lane's first partition.
func small(t *testing.T) (*group, wire.TopicPartition) {
	g := newGroup(t, 2)
	lane := wire.TopicPartition{Topic: stream + ".agent.sessions"}
	second := lane
	second.Partition = 1
	g.own(0, lane)
	g.own(1, second)
	for i := range 12 {
		g.session(fmt.Sprint("s", i), "worker")
	}
	g.commit()
	return g, lane
}

const listPath = "/agdx/sessions/" + stream

// wants says that all reads of a worker are refused with a message that has the
// parts.
func (m *member) refuses(parts ...string) {
	m.t.Helper()
	for _, path := range []string{listPath, listPath + "/" + wire.ID{}.String(), listPath + "/" + wire.ID{}.String() + "/events"} {
		msg := m.fails(503, "unavailable", path)
		for _, p := range parts {
			if !strings.Contains(msg, p) {
				m.t.Errorf("GET %s: %q, want %q in it", path, msg, p)
			}
		}
	}
}

func (m *member) answers() {
	m.t.Helper()
	if p := get[wire.SessionPage](m.world, listPath); len(p.Items) != 12 {
		m.t.Errorf("%d sessions", len(p.Items))
	}
}

// others replaces the other workers that the group's first one knows.
func (g *group) others(o PeersOptions) *member {
	m := g.workers[0]
	m.opt.Peers = g.peers(o)
	m.serve()
	return m
}

func TestPartitionsOfNobodyAndOfTwo(t *testing.T) {
	g, lane := small(t)
	g.workers[0].answers()
	g.own(-1, lane) // nobody's
	for _, m := range g.workers {
		m.refuses("agents.agent.sessions[0] (held by none)")
	}
	g.own(0, lane)
	g.change(func() { g.workers[1].claims = []wire.TopicPartition{lane} })
	g.workers[0].refuses("agents.agent.sessions[0] (claimed by "+g.workers[1].url, "this worker")
	g.change(func() { g.workers[1].claims, g.workers[0].restoring = nil, []wire.TopicPartition{lane} })
	g.workers[1].refuses("agents.agent.sessions[0] (restoring on " + g.workers[0].url)
	g.change(func() { g.workers[0].restoring = nil })
	g.workers[1].answers()
}

// Rows that a store has of partitions which are another worker's now are not
// shown.
func TestLeftOverRowsAreNotShown(t *testing.T) {
	g, lane := small(t)
	raw := wire.Raw{Offset: g.offsets[lane], Timestamp: g.clock}
	g.session("left over", "worker")
	r := g.log.Records[0]
	g.log.Records = nil
	raw.Key, raw.Value, raw.Headers = r.Key, r.Value, r.Headers
	g.workers[1].fold(lane, raw)
	for _, m := range g.workers {
		m.answers()
		m.fails(404, "not_found", listPath+"/"+r.Session.String())
		m.fails(404, "not_found", listPath+"/"+r.Session.String()+"/events")
	}
}

// A worker that does not answer is named after the bound, with what is missing;
// one that nothing is missing of is not waited for a second time.
func TestWorkerThatHangs(t *testing.T) {
	g, _ := small(t)
	ctx, end := context.WithCancel(t.Context())
	hangs := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { <-ctx.Done() }))
	t.Cleanup(hangs.Close)
	t.Cleanup(end)
	m := g.others(PeersOptions{URLs: []string{hangs.URL}, Timeout: 20 * time.Millisecond})
	m.refuses("agents.agent.sessions[1] (held by none)", hangs.URL, "no answer within 20ms")
	m = g.others(PeersOptions{URLs: []string{hangs.URL, g.workers[1].url}, Timeout: time.Hour})
	m.opt.Peers.note(hangs.URL, true)
	m.answers() // it would wait for an hour
}

func TestWorkerThatIsGone(t *testing.T) {
	g, _ := small(t)
	gone := httptest.NewServer(nil)
	gone.Close()
	g.others(PeersOptions{URLs: []string{gone.URL}}).refuses("agents.agent.sessions[1]", "no answer of "+gone.URL, "refused")
	g.others(PeersOptions{URLs: []string{gone.URL, g.workers[1].url}}).answers()
	// One worker under two addresses claims nothing twice.
	second := httptest.NewServer(g.workers[1])
	defer second.Close()
	g.others(PeersOptions{URLs: []string{second.URL, g.workers[1].url}}).answers()
}

// Answers that no worker gives are refused as a whole, and nothing of them is
// shown.
func TestWorkerThatAnswersGarbage(t *testing.T) {
	g, lane := small(t)
	second := heldPart{lane.Topic, 1, generation}
	good := peerReply{Format: peerFormat, Instance: [16]byte{1}, Store: [8]byte{1}, Held: []heldPart{second}}
	reply := func(change func(*peerReply)) []byte {
		r := good
		change(&r)
		b, err := cbor.Marshal(&r)
		if err != nil {
			t.Fatal(err)
		}
		return b
	}
	key := func(s *wire.Source) []byte { return append([]byte{'s', 0, 0, 0, 0}, make([]byte, 16)...) }
	for name, c := range map[string]struct {
		body []byte
		want string
	}{
		"nothing":          {nil, "cannot be read"},
		"text":             {[]byte("hello"), "cannot be read"},
		"another type":     {[]byte{0x83, 1, 2, 3}, "cannot be read"},
		"another format":   {reply(func(r *peerReply) { r.Format = 7 }), "different versions"},
		"rows cut":         {reply(func(r *peerReply) { r.Rows = []byte{5, 1, 2} }), "cannot be used"},
		"row without end":  {reply(func(r *peerReply) { r.Rows = []byte{1, 's', 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 1} }), "cannot be used"},
		"foreign source":   {reply(func(r *peerReply) { r.Rows = appendRow(nil, key(nil), []byte("x")) }), "cannot be used"},
		"key of the store": {reply(func(r *peerReply) { r.Rows = appendRow(nil, []byte("mf"), []byte("x")) }), "cannot be used"},
		"no key":           {reply(func(r *peerReply) { r.Rows = appendRow(nil, nil, []byte("x")) }), "cannot be used"},
		"same partition":   {reply(func(r *peerReply) { r.Held = append(r.Held, heldPart{lane.Topic, 0, generation}) }), "claimed by"},
		"nothing held":     {reply(func(r *peerReply) { r.Held = nil }), "held by none"},
		"itself":           {reply(func(r *peerReply) { r.Same = true }), "held by none"},
		"same store": {reply(func(r *peerReply) {
			rd, err := g.workers[0].store.Reader()
			if err != nil {
				t.Fatal(err)
			}
			defer rd.Close()
			r.Store = storeTag(rd.Identity())
		}), "copies of one"},
	} {
		t.Run(name, func(t *testing.T) {
			bad := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { _, _ = w.Write(c.body) }))
			defer bad.Close()
			m := g.others(PeersOptions{URLs: []string{bad.URL}})
			m.t = t
			m.refuses(c.want)
		})
	}
	// A list that never goes on ends.
	var n atomic.Int32
	loops := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		n.Add(1)
		_, _ = w.Write(reply(func(r *peerReply) { r.More, r.Time = true, 1<<62 }))
	}))
	defer loops.Close()
	g.others(PeersOptions{URLs: []string{loops.URL}}).fails(503, "unavailable", listPath)
	if n := n.Load(); n > 10 {
		t.Errorf("it was asked %d times", n)
	}
	// Values that no store writes are trouble of the index, not a part.
	src := wire.NewSource(stream, lane.Topic, generation, 1, wire.RoleLane, wire.DialectAGDX)
	meta := append([]byte{'s', byte(src.StreamID >> 24), byte(src.StreamID >> 16), byte(src.StreamID >> 8), byte(src.StreamID)}, keyOf(src)...)
	broken := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		_, _ = w.Write(reply(func(r *peerReply) { r.Rows = appendRow(nil, meta, []byte("x")) }))
	}))
	defer broken.Close()
	g.others(PeersOptions{URLs: []string{broken.URL}}).fails(502, "backend", listPath)
}

func keyOf(src *wire.Source) []byte { k := src.Key(); return k[:] }

// Partitions that move during a read end it, and make the cursors of a list
// stale.
func TestPartitionsMove(t *testing.T) {
	g, lane := small(t)
	var asked atomic.Int32
	front := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if asked.Add(1) == 2 {
			g.own(1, lane)
		}
		g.workers[1].ServeHTTP(w, r)
	}))
	defer front.Close()
	m := g.others(PeersOptions{URLs: []string{front.URL}})
	if msg := m.fails(503, "unavailable", listPath); !strings.Contains(msg, "moved") {
		t.Errorf("%q", msg)
	}
	g.own(0, lane)
	p := get[wire.SessionPage](m.world, listPath+"?limit=3")
	second := lane
	second.Partition = 1
	g.own(1, lane)
	g.own(0, second)
	if msg := m.fails(409, "stale_generation", listPath+"?limit=3&cursor="+p.Cursor); !strings.Contains(msg, "moved between workers") {
		t.Errorf("%q", msg)
	}
	g.own(1, lane, second) // all of it on the other one
	for _, m := range g.workers {
		m.fails(409, "stale_generation", listPath+"?limit=3&cursor="+p.Cursor)
	}
}

// What a worker loses while it reads its store is not taken for whole.
func TestPartitionsMoveWhileOneReads(t *testing.T) {
	g, _ := small(t)
	var calls atomic.Int32
	g.workers[1].opt.Holding = func(string) Holding {
		if calls.Add(1)%2 == 0 {
			return Holding{}
		}
		return g.holding(1)
	}
	g.workers[1].serve()
	g.workers[0].refuses("agents.agent.sessions[1]", g.workers[1].url, "status 503")
}

// Workers show each other a token, and what the token may not read they do not
// get.
func TestTokensBetweenWorkers(t *testing.T) {
	g, _ := small(t)
	file := fmt.Sprintf("%x session:read stream:agents\n%x session:read stream:other\n", sha256.Sum256([]byte("right")), sha256.Sum256([]byte("other")))
	for _, m := range g.workers {
		toks, err := ParseTokens(strings.NewReader(file))
		if err != nil {
			t.Fatal(err)
		}
		m.opt.Tokens = toks
		m.serve()
	}
	for token, want := range map[string]string{"right": "", "wrong": "status 401", "other": "status 403"} {
		m := g.others(PeersOptions{URLs: []string{g.workers[1].url}, Token: func() (string, error) { return token, nil }})
		rec := m.request("GET", listPath, nil, "Authorization", "Bearer right")
		if ok := rec.Code == 200; ok != (want == "") || !strings.Contains(rec.Body.String(), want) || strings.Contains(rec.Body.String(), token+"\"") {
			t.Errorf("token %s: %d %s", token, rec.Code, rec.Body)
		}
	}
	m := g.others(PeersOptions{URLs: []string{g.workers[1].url}, Token: func() (string, error) { return "", errors.New("the file is gone") }})
	if rec := m.request("GET", listPath, nil, "Authorization", "Bearer right"); rec.Code != 503 || !strings.Contains(rec.Body.String(), "the file is gone") {
		t.Errorf("%d %s", rec.Code, rec.Body)
	}
}

// A name stands for all its addresses, this worker's among them. It is looked up
// again, and when that fails what was known before is still asked.
func TestPeersByName(t *testing.T) {
	g, _ := small(t)
	u, err := url.Parse(g.workers[1].url)
	if err != nil {
		t.Fatal(err)
	}
	asked, fails := 0, false
	o := PeersOptions{URLs: []string{"dns+http://workers:" + u.Port()}, Lookup: func(_ context.Context, host string) ([]string, error) {
		if asked++; host != "workers" || fails {
			return nil, errors.New("no such host")
		}
		return []string{u.Hostname()}, nil
	}}
	m := g.others(o)
	m.answers()
	m.answers()
	if asked != 1 {
		t.Errorf("looked up %d times", asked)
	}
	fails = true
	m.opt.Peers.until = time.Time{}
	m.answers()
	if asked == 1 {
		t.Error("not looked up again")
	}
	g.others(o).refuses("look up workers: no such host")
	p, err := NewPeers(PeersOptions{URLs: []string{"dns+https://w:1/x/", "http://b:2/", "http://b:2"}, Lookup: func(context.Context, string) ([]string, error) {
		return []string{"10.0.0.2", "fd00::1"}, nil
	}})
	if err != nil {
		t.Fatal(err)
	}
	if got, err := p.urls(t.Context()); err != nil || !slices.Equal(got, []string{"http://b:2", "https://10.0.0.2:1/x", "https://[fd00::1]:1/x"}) {
		t.Errorf("%v %v", got, err)
	}
	for _, bad := range []string{"", "worker:8080", "ftp://w", "http://", "http://u:p@w", "http://w?x=1", "dns+w:1"} {
		if _, err := NewPeers(PeersOptions{URLs: []string{bad}}); err == nil {
			t.Errorf("%q is taken", bad)
		}
	}
}

// What a worker is asked is bounded and must be of its version.
func TestPeerRequests(t *testing.T) {
	g, _ := small(t)
	send := func(q any, status int) {
		t.Helper()
		b, err := cbor.Marshal(q)
		if err != nil {
			t.Fatal(err)
		}
		if rec := g.workers[0].request("POST", "/agdx/peer", strings.NewReader(string(b))); rec.Code != status {
			t.Errorf("%+v: %d %s", q, rec.Code, rec.Body)
		}
	}
	send(peerRequest{Format: peerFormat, Stream: stream}, 200)
	send(peerRequest{Format: 3, Stream: stream}, 503)
	send(peerRequest{Format: peerFormat, Stream: "nosuch"}, 404)
	send(peerRequest{Format: peerFormat, Stream: stream, IDs: make([]wire.ID, maxPeerIDs+1)}, 400)
	send(peerRequest{Format: peerFormat, Stream: stream, List: &peerList{N: maxPeerIDs + 1}}, 400)
	send(peerRequest{Format: peerFormat, Stream: stream, Events: &peerEvents{Limit: 5}}, 400)
	send(peerRequest{Format: peerFormat, Stream: stream, IDs: make([]wire.ID, 1), Events: &peerEvents{Limit: MaxLimit + 1}}, 400)
	send([]int{1}, 400)
	send(strings.Repeat("x", maxPeerAsked), 400)
	if rec := g.world.request("POST", "/agdx/peer", nil); rec.Code != 404 {
		t.Errorf("a worker without others: %d", rec.Code)
	}
}
