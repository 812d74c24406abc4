package daemon

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strings"
	"sync"
	"time"

	"sessionfold/cmd/folder/internal/config"
)

// token gives the bearer token of a login: from a file, read each time, or by
// client credentials (RFC 6749, 4.4).
func token(k *config.Kafka) func(context.Context) (string, error) {
	if k.OAuthTokenFile != "" {
		return func(context.Context) (string, error) {
			return secretFile("kafka.oauth_token_file", k.OAuthTokenFile)
		}
	}
	g := &grant{cfg: k}
	return g.token
}

// grant asks a token URL and keeps the answer for as long as it is good for a
// login: a client opens a dozen connections at once.
type grant struct {
	cfg *config.Kafka

	mu    sync.Mutex
	kept  string
	until time.Time
}

const (
	grantWait   = 10 * time.Second
	grantSpare  = 30 * time.Second // a token that ends sooner is not used for a login
	grantAnswer = 1 << 20          // bytes
)

func (g *grant) token(ctx context.Context) (string, error) {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.kept != "" && time.Now().Before(g.until) {
		return g.kept, nil
	}
	ctx, cancel := context.WithTimeout(ctx, grantWait)
	defer cancel()
	asked := time.Now()
	token, lasts, err := g.ask(ctx)
	if err != nil {
		return "", fmt.Errorf("kafka.oauth_token_url: %w", err)
	}
	g.kept, g.until = token, asked.Add(lasts-grantSpare)
	return token, nil
}

// ask makes the request. Its errors hold the answer's error code and never the
// secret or the token.
func (g *grant) ask(ctx context.Context) (token string, lasts time.Duration, err error) {
	secret, err := secretFile("kafka.oauth_client_secret_file", g.cfg.OAuthClientSecretFile)
	if err != nil {
		return "", 0, err
	}
	form := url.Values{"grant_type": {"client_credentials"}}
	if g.cfg.OAuthScope != "" {
		form.Set("scope", g.cfg.OAuthScope)
	}
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, g.cfg.OAuthTokenURL, strings.NewReader(form.Encode()))
	if err != nil {
		return "", 0, err
	}
	req.Header.Set("Content-Type", "application/x-www-form-urlencoded")
	req.Header.Set("Accept", "application/json")
	req.SetBasicAuth(url.QueryEscape(g.cfg.OAuthClientID), url.QueryEscape(secret))
	// A redirect would carry the secret to where the configuration does not point.
	client := http.Client{CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }}
	res, err := client.Do(req)
	if err != nil {
		return "", 0, err
	}
	defer res.Body.Close()
	var answer struct {
		Token string  `json:"access_token"`
		Type  string  `json:"token_type"`
		Lasts float64 `json:"expires_in"` // seconds
		Error string  `json:"error"`
	}
	err = json.NewDecoder(io.LimitReader(res.Body, grantAnswer)).Decode(&answer)
	switch {
	case res.StatusCode != http.StatusOK:
		return "", 0, fmt.Errorf("status %s %s", res.Status, answer.Error)
	case err != nil:
		return "", 0, errors.New("the answer is no JSON")
	case answer.Token == "" || !strings.EqualFold(answer.Type, "bearer"):
		return "", 0, errors.New("the answer holds no bearer token")
	}
	return answer.Token, time.Duration(answer.Lasts * float64(time.Second)), nil
}
