package main

import (
	"github.com/twmb/franz-go/pkg/kgo"

	"sessionfold/wire"
)

// part is what is written in one go, of one session.
type part struct {
	name    string
	session wire.ID
	records []*kgo.Record
}

// story is a planner that lets a reviewer look at its plan.
func story() []part {
	var parts []part
	s := newSession("planner")
	s.start("Plan a trip")
	s.user("Two days in Lisbon, by train.")
	s.snapshot(map[string]any{"city": "Lisbon", "days": []any{}})
	s.model("example-large", "plan two days", "I look up trains first.", 1200, 80, 3400)
	s.tool("search_trains", map[string]any{"to": "Lisbon", "day": 1}, map[string]any{"trains": 3})
	s.delta(op{"add", "/days/-", "walk through Alfama"}, op{"add", "/train", "IC 523"})
	parts = append(parts, s.take("session"))

	c := s.child("reviewer")
	c.start("Review the plan")
	c.model("example-small", "is this plan feasible", "The second day is missing.", 600, 40, 500)
	c.tool("opening_hours", map[string]any{"place": "castle"}, map[string]any{"open": "9-18"})
	parts = append(parts, c.take("child"))

	c.end("reviewed")
	parts = append(parts, c.take("end of the child"))

	s.delta(op{"add", "/days/-", "the castle"}, op{"test", "/city", "Lisbon"})
	s.model("example-large", "write it down", "Here is the plan.", 1500, 300, 5200)
	s.end("done")
	return append(parts, s.take("end of the session"))
}
