package serve

import (
	"slices"
	"testing"

	"sessionfold/testenv/agdxlog"
	"sessionfold/wire"
)

// TestPauseAndHeldWork: what the control topic asked, who acknowledged exactly
// that, and what waits meanwhile.
func TestPauseAndHeldWork(t *testing.T) {
	w := newWorld(t)
	s := w.session("flight", "planner")
	s.Pause("planner", "helper")
	s.UnauthorizedPause()
	w.commit()
	info := get[wire.SessionInfo](w, sessionPath(s.ID, ""))
	if !info.PauseRequested || info.Status != "active" || info.CancelRequested || info.Pause == nil || len(info.Pause.Acknowledged) != 0 {
		t.Fatalf("asked: %+v", info)
	}
	control := w.parts[wire.TopicPartition{Topic: stream + ".agent.control", Partition: int32(uint32(s.ID[15]) % w.spread)}].Source()
	request := control.At(0)
	if info.Pause.Position != request.Locator() || info.Pause.PositionText != control.PositionText(0) || !slices.Equal(info.Pause.Participants, []string{"helper", "planner"}) {
		t.Errorf("pause %+v", info.Pause)
	}
	s.State(wire.TaskPaused, "planner", &request)
	work := request
	work.Offset = 77
	s.Park(work, request)
	s.Park(work, request)
	work.Offset = 78
	s.Park(work, request)
	w.commit()
	info = get[wire.SessionInfo](w, sessionPath(s.ID, ""))
	if info.Status != "paused" || info.Held != 2 || !slices.Equal(info.Pause.Acknowledged, []string{"planner"}) {
		t.Errorf("acknowledged: held %d, %+v", info.Held, info.Pause)
	}
	r, _ := w.op(wire.CodeSessionGet, wire.SessionGet{Stream: stream, ID: s.ID})
	if r.Ok.Info.Held != 2 || !r.Ok.Info.PauseRequested {
		t.Errorf("in CBOR: %+v", r.Ok.Info)
	}
	s.Resume()
	w.commit()
	resume := control.At(1)
	s.State(wire.TaskWorking, "planner", &resume)
	s.Unpark(work, request)
	s.Cancel()
	s.End(wire.TaskCanceled, "asked")
	w.commit()
	info = get[wire.SessionInfo](w, sessionPath(s.ID, ""))
	if info.PauseRequested || info.Pause != nil || !info.CancelRequested || info.Held != 1 || info.Status != "canceled" {
		t.Errorf("at the end: %+v", info)
	}
}

// TestForcedCancelOrdering: the control topic may be folded much later than the
// lane, or much earlier; the winner is the same.
func TestForcedCancelOrdering(t *testing.T) {
	for _, laneFirst := range []bool{true, false} {
		for _, forcedFirst := range []bool{true, false} {
			w := newWorld(t)
			s := w.session("sweep", "worker")
			lane := wire.TopicPartition{Topic: stream + ".agent.sessions", Partition: int32(uint32(s.ID[15]) % w.spread)}
			control := wire.TopicPartition{Topic: stream + ".agent.control", Partition: lane.Partition}
			w.commit()
			s.End(wire.TaskCompleted, "done")
			end := w.log.Records[0]
			w.log.Records = nil
			s.ForceCancel()
			forced := w.log.Records[0]
			w.log.Records = nil
			endAt, forcedAt := w.clock+20, w.clock+30
			if forcedFirst {
				forcedAt = w.clock + 10
			}
			raw := func(r agdxlog.Record, offset uint64, at int64) wire.Raw {
				return wire.Raw{Offset: offset, Timestamp: at, Key: r.Key, Value: r.Value, Headers: r.Headers}
			}
			if laneFirst {
				w.fold(lane, raw(end, w.offsets[lane], endAt))
				if got := get[wire.SessionInfo](w, sessionPath(s.ID, "")); got.Status != "completed" {
					t.Errorf("the lane alone: %s", got.Status)
				}
				w.fold(control, raw(forced, 0, forcedAt))
			} else {
				w.fold(control, raw(forced, 0, forcedAt))
				if got := get[wire.SessionInfo](w, sessionPath(s.ID, "")); got.Status != "canceled" {
					t.Errorf("the control topic before the lane: %s", got.Status)
				}
				w.fold(lane, raw(end, w.offsets[lane], endAt))
			}
			want, reason := "completed", "done"
			if forcedFirst {
				want, reason = "canceled", "forced"
			}
			if got := get[wire.SessionInfo](w, sessionPath(s.ID, "")); got.Status != want || got.Reason != reason || got.Events != 3 {
				t.Errorf("lane first %t, forced first %t: %s %q, %d events", laneFirst, forcedFirst, got.Status, got.Reason, got.Events)
			}
			late := 0
			for _, e := range get[wire.SessionEventsPage](w, sessionPath(s.ID, "/events")).Items {
				if e.AfterEnd {
					late++
				}
			}
			if late != 1 {
				t.Errorf("%d events after the end", late)
			}
		}
	}
}

// TestCollapse: of a chunk stream only the opening row is shown, the rest is
// counted, and a walk over pages tells the same.
func TestCollapse(t *testing.T) {
	w := newWorld(t)
	s := w.session("talk", "planner")
	req := s.ModelRequest("m")
	channel := agdxlog.NameID(stream, "channel")
	for i := range uint64(5) {
		s.Chunk(channel, req.Correlation, i, wire.OpChat, i == 4)
	}
	s.ModelResponse(req, "m", agdxlog.Tokens{In: 1, Out: 1})
	s.Stream(wire.OpToolArgs, 3)
	w.commit()
	whole := get[wire.SessionEventsPage](w, sessionPath(s.ID, "/events"))
	if len(whole.Items) != 13 || whole.Collapsed != 0 {
		t.Fatalf("%d rows", len(whole.Items))
	}
	var shown []wire.SessionEvent
	var hidden uint64
	cursor := ""
	for pages := 0; pages < 20; pages++ {
		page := get[wire.SessionEventsPage](w, sessionPath(s.ID, "/events?collapse=true&limit=1"+cursor))
		shown, hidden = append(shown, page.Items...), hidden+page.Collapsed
		if page.Cursor == "" {
			break
		}
		cursor = "&cursor=" + page.Cursor
		w.fails(400, "invalid_argument", sessionPath(s.ID, "/events?limit=1"+cursor)) // bound to the collapse
	}
	if len(shown) != 5 || hidden != 8 {
		t.Fatalf("%d rows shown, %d left out", len(shown), hidden)
	}
	var response, stream *wire.SessionEvent
	for i := range shown {
		switch shown[i].Display {
		case "model.response":
			response = &shown[i]
		case "model.stream":
			stream = &shown[i]
		}
	}
	if response == nil || stream == nil || *response.Correlation != *stream.Correlation {
		t.Errorf("the stream does not fold into its response: %+v", shown)
	}
	if info := get[wire.SessionInfo](w, sessionPath(s.ID, "")); info.Events != 13 {
		t.Errorf("%d events counted", info.Events)
	}
}
