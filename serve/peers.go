package serve

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/fxamacker/cbor/v2"
)

const (
	// DefaultPeersTimeout bounds how long another worker may take to answer.
	DefaultPeersTimeout = 2 * time.Second
	// lookupKept is how long the addresses of a name are kept.
	lookupKept = 2 * time.Second

	dnsScheme = "dns+"
)

// Peers are the other workers of the group, as far as they are known: some of
// them may be gone, and this worker itself may be among them.
type Peers struct {
	o      PeersOptions
	client *http.Client

	mu      sync.Mutex
	kept    map[string][]string // name → addresses
	until   time.Time           // of kept
	failing map[string]bool     // addresses that did not answer when last asked
}

// PeersOptions say where the other workers are and what they want to see.
type PeersOptions struct {
	// URLs are base URLs without the prefix. One that begins with dns+ stands for
	// all addresses that its host name has.
	URLs    []string
	Timeout time.Duration          // default DefaultPeersTimeout
	Token   func() (string, error) // bearer token; nil: none
	Lookup  func(ctx context.Context, host string) ([]string, error)
}

// NewPeers checks the URLs.
func NewPeers(o PeersOptions) (*Peers, error) {
	for _, u := range o.URLs {
		if err := CheckPeerURL(u); err != nil {
			return nil, fmt.Errorf("serve: peer %q %w", u, err)
		}
	}
	if o.Timeout <= 0 {
		o.Timeout = DefaultPeersTimeout
	}
	if o.Lookup == nil {
		o.Lookup = net.DefaultResolver.LookupHost
	}
	t := http.DefaultTransport.(*http.Transport).Clone()
	t.Proxy, t.MaxIdleConnsPerHost = nil, 16 // workers are near
	return &Peers{
		o: o, kept: map[string][]string{}, failing: map[string]bool{},
		// A redirect would carry the token to where the configuration does not point.
		client: &http.Client{Transport: t, CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }},
	}, nil
}

// CheckPeerURL says what is wrong with the URL of another worker.
func CheckPeerURL(s string) error {
	u, err := url.Parse(strings.TrimPrefix(s, dnsScheme))
	switch {
	case err != nil || u.Scheme != "http" && u.Scheme != "https" || u.Hostname() == "":
		return errors.New("is no URL like http://worker-1:8080 or dns+http://workers:8080")
	case u.User != nil || u.RawQuery != "" || u.Fragment != "":
		return errors.New("has more than a host, a port and a path")
	}
	return nil
}

// urls gives the base URLs of now, each once. A name that cannot be looked up
// is an error beside what else is known.
func (p *Peers) urls(ctx context.Context) ([]string, error) {
	p.mu.Lock()
	fresh := time.Now().Before(p.until)
	p.mu.Unlock()
	var out []string
	var errs []error
	for _, s := range p.o.URLs {
		name, ok := strings.CutPrefix(s, dnsScheme)
		if !ok {
			out = append(out, strings.TrimSuffix(s, "/"))
			continue
		}
		u, err := url.Parse(name)
		if err != nil {
			return nil, err
		}
		addrs, err := p.addresses(ctx, u.Hostname(), fresh)
		if err != nil {
			errs = append(errs, fmt.Errorf("look up %s: %w", u.Hostname(), err))
		}
		for _, a := range addrs {
			one := *u
			if one.Host = a; strings.Contains(a, ":") {
				one.Host = "[" + a + "]"
			}
			if port := u.Port(); port != "" {
				one.Host = net.JoinHostPort(a, port)
			}
			out = append(out, strings.TrimSuffix(one.String(), "/"))
		}
	}
	slices.Sort(out)
	return slices.Compact(out), errors.Join(errs...)
}

// addresses looks a name up, or gives what was found a moment ago.
func (p *Peers) addresses(ctx context.Context, host string, fresh bool) ([]string, error) {
	p.mu.Lock()
	kept := p.kept[host]
	p.mu.Unlock()
	if fresh && kept != nil {
		return kept, nil
	}
	ctx, cancel := context.WithTimeout(ctx, p.o.Timeout)
	defer cancel()
	found, err := p.o.Lookup(ctx, host)
	if err != nil {
		return kept, err // those of before may still be right; the answers will tell
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	p.kept[host], p.until = found, time.Now().Add(lookupKept)
	return found, nil
}

// ask sends a request to one worker.
func (p *Peers) ask(ctx context.Context, base, prefix string, body []byte) (*peerReply, error) {
	ctx, cancel := context.WithTimeout(ctx, p.o.Timeout)
	defer cancel()
	out, err := p.post(ctx, base+prefix+"/peer", body)
	if errors.Is(err, context.DeadlineExceeded) {
		err = fmt.Errorf("no answer within %v", p.o.Timeout)
	}
	return out, err
}

func (p *Peers) post(ctx context.Context, to string, body []byte) (*peerReply, error) {
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, to, bytes.NewReader(body))
	if err != nil {
		return nil, err
	}
	req.Header.Set("Content-Type", typeCBOR)
	if p.o.Token != nil {
		token, err := p.o.Token()
		if err != nil {
			return nil, err
		}
		req.Header.Set("Authorization", "Bearer "+token)
	}
	res, err := p.client.Do(req)
	if err != nil {
		var u *url.Error
		if errors.As(err, &u) {
			err = u.Err // without the URL, which is said anyway
		}
		return nil, err
	}
	defer res.Body.Close()
	if res.StatusCode != http.StatusOK {
		return nil, fmt.Errorf("status %s", res.Status)
	}
	b, err := io.ReadAll(io.LimitReader(res.Body, maxPeerBytes+1<<20))
	if err != nil {
		return nil, err
	}
	out := &peerReply{}
	if err := cbor.Unmarshal(b, out); err != nil {
		return nil, errors.New("its answer cannot be read")
	}
	if out.Format != peerFormat {
		return nil, fmt.Errorf("it speaks format %#x, this worker %#x: they have different versions", out.Format, peerFormat)
	}
	return out, nil
}

// note remembers whether a worker answered.
func (p *Peers) note(base string, failed bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.failing[base] = failed
}

// doubted says that a worker did not answer when it was last asked.
func (p *Peers) doubted(base string) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.failing[base]
}
