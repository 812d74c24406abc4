package e2e

import (
	"context"
	"encoding/json"
	"time"

	"sessionfold/testenv"
	"sessionfold/wire"
)

// told is what the reads tell of a session, without positions.
type told struct {
	Info   string
	Events []string
	Links  []wire.SessionLink
	State  wire.SessionStateView
}

// tell reads one session. A pause that is asked for must be the request at a
// position.
func (r *rig) tell(id wire.ID, request wire.Pos) told {
	r.Helper()
	ctx, cancel := context.WithTimeout(r.Context(), 60*time.Second)
	defer cancel()
	path := "/sessions/" + r.stream + "/" + id.String()
	var out told
	var info wire.SessionInfo
	var links wire.SessionLinksView
	testenv.Eventually(r, 30*time.Second, func() error {
		for p, v := range map[string]any{path + "?subtree=true": &info, path + "/links": &links, path + "/state": &out.State} {
			if err := r.worker.JSON(ctx, p, v); err != nil {
				return err
			}
		}
		return nil
	})
	rows, err := r.events(ctx, id)
	if err != nil {
		r.Fatal(err)
	}
	for i := range rows {
		out.Events = append(out.Events, text(r, withoutPlace(rows[i])))
	}
	info.Stream, info.Frontier = "", nil
	info.ActiveTime = nil // of the lane's source, or of the only one: it differs with the layout
	info.ActiveTime = nil // of one source: outside law 2 (spec settled.md, "Address, time, text, numbers")
	if info.Pause != nil {
		if info.Pause.Position != request.Locator() {
			r.Errorf("%s: the pause of %s is at %s, it was asked for at %v", r.stream, id, info.Pause.PositionText, request)
		}
		info.Pause.Position, info.Pause.PositionText = wire.Locator{}, ""
	}
	out.Info = text(r, info)
	for _, l := range links.Links {
		l.First, l.Last, l.FirstText, l.LastText = wire.Locator{}, wire.Locator{}, "", ""
		out.Links = append(out.Links, l)
	}
	out.State.Frontier = nil
	for i := range out.State.History {
		out.State.History[i].At, out.State.History[i].AtText = wire.Locator{}, ""
	}
	return out
}

func withoutPlace(e wire.SessionEvent) wire.SessionEvent {
	e.At, e.AtText, e.Cause, e.Topic, e.TopicGenerationText = wire.SourceRef{}, "", nil, "", ""
	return e
}

func text(r *rig, v any) string {
	b, err := json.Marshal(v)
	if err != nil {
		r.Fatal(err)
	}
	return string(b)
}
