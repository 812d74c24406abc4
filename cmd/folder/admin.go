package main

import (
	"context"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"strings"

	"github.com/spf13/pflag"

	"sessionfold/cmd/folder/internal/config"
)

// adminURL is where a worker's admin listener is.
type adminURL struct{ url string }

func (a *adminURL) add(fs *pflag.FlagSet) {
	fs.StringVar(&a.url, "url", "", "worker's admin listener (FOLDER_ADMIN_URL; default http:// and admin.listen)")
}

func (a *adminURL) base(c *cli, l *config.Loaded) string {
	base := a.url
	if base == "" {
		base = c.getenv("FOLDER_ADMIN_URL")
	}
	if base == "" {
		base = "http://" + l.Admin.Listen
		if host, port, err := net.SplitHostPort(l.Admin.Listen); err == nil && (host == "" || net.ParseIP(host).IsUnspecified()) {
			base = "http://" + net.JoinHostPort("localhost", port) // listens everywhere, here too
		}
	}
	return strings.TrimSuffix(base, "/")
}

// ask sends a request to the admin listener. The answer's body is the caller's
// to close when there is no error; a status other than those wanted is one.
func ask(ctx context.Context, method, base, path string, q url.Values, want ...int) (*http.Response, error) {
	u := base + path + "?" + q.Encode()
	req, err := http.NewRequestWithContext(ctx, method, u, nil)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", u, err)
	}
	res, err := http.DefaultClient.Do(req)
	if err != nil {
		return nil, fmt.Errorf("%s: %w\n    hint: name the admin listener of a running worker with --url", base, err)
	}
	for _, status := range want {
		if res.StatusCode == status {
			return res, nil
		}
	}
	body, err := io.ReadAll(io.LimitReader(res.Body, 4096))
	_ = res.Body.Close() // read as far as it matters
	text := strings.TrimSpace(string(body))
	if err != nil {
		text = err.Error()
	}
	hint := ""
	if res.StatusCode == http.StatusNotFound && !strings.HasSuffix(text, " here") && !strings.HasPrefix(text, "this worker ") {
		hint = "\n    hint: is this an admin listener?"
	}
	return nil, fmt.Errorf("%s%s: %s: %s%s", base, path, res.Status, text, hint)
}
