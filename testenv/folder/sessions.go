package folder

import (
	"context"
	"fmt"
	"net/url"

	"sessionfold/wire"
)

// Page is the path of a page behind a cursor.
func Page(path, cursor string) string {
	q := url.Values{"limit": {"1000"}}
	if cursor != "" {
		q.Set("cursor", cursor)
	}
	return path + "?" + q.Encode()
}

// Sessions walks the list of a stream. A session that is listed twice is an error.
func (w *Worker) Sessions(ctx context.Context, stream string) (map[wire.ID]wire.SessionInfo, error) {
	out, cursor := map[wire.ID]wire.SessionInfo{}, ""
	for {
		var p wire.SessionPage
		if err := w.JSON(ctx, Page("/sessions/"+stream, cursor), &p); err != nil {
			return nil, err
		}
		for _, s := range p.Items {
			if _, twice := out[s.ID]; twice {
				return nil, fmt.Errorf("folder: session %s is listed twice in one walk", s.ID)
			}
			out[s.ID] = s
		}
		if p.Cursor == "" {
			return out, nil
		}
		cursor = p.Cursor
	}
}
