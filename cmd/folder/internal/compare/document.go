package compare

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"

	"sessionfold/cmd/folder/internal/client"
	"sessionfold/wire"
)

// document reads the state document of a session that may have one: a row says
// so, or rows are missing. In place of the document stands its digest, so that
// no report of a difference shows content.
func document(ctx context.Context, c *client.Client, stream, id string, st *state) error {
	wanted := st.end != nil
	for _, e := range st.events {
		m, _ := e.(map[string]any)
		op, _ := m["operation"].(string)
		wanted = wanted || op == wire.OpStateDelta || op == wire.OpStateSnapshot
	}
	if !wanted {
		return nil
	}
	raw, err := c.State(ctx, stream, id, 1000)
	if err != nil {
		return err
	}
	var parts map[string]json.RawMessage
	if err := json.Unmarshal(raw, &parts); err != nil {
		return fmt.Errorf("a state that does not read: %w", err)
	}
	sum := sha256.Sum256(parts["document"])
	if parts["document"], err = json.Marshal(hex.EncodeToString(sum[:])); err != nil {
		return err
	}
	if raw, err = json.Marshal(parts); err != nil {
		return err
	}
	st.document, err = normal(raw)
	return err
}
