package daemon

import (
	"sessionfold/cmd/folder/internal/config"
	"sessionfold/serve"
)

// peers are the other workers; nil when none are configured. The token's file is
// read once now, so that one that is missing is told of at the start, and again
// for each request.
func peers(c *config.Config) (*serve.Peers, error) {
	if len(c.HTTP.Peers) == 0 {
		return nil, nil
	}
	o := serve.PeersOptions{URLs: c.HTTP.Peers, Timeout: c.HTTP.PeersTimeout}
	if f := c.HTTP.PeersTokenFile; f != "" {
		o.Token = func() (string, error) { return secretFile("http.peers_token_file", f) }
		if _, err := o.Token(); err != nil {
			return nil, err
		}
	}
	return serve.NewPeers(o)
}
