// Package agdxlog writes AGDX logs down readably: a Log is a stream, Session a
// conversation in it, and each method appends the records that a producer would
// write (spec agdx.md). Nothing here reads a clock or draws at random: the same
// calls give the same bytes.
//
//	l := agdxlog.New("shop")
//	s := l.Session("checkout", "planner")
//	s.Start(agdxlog.Start{Label: "Checkout is slow"})
//	s.User("why is checkout slow?")
//	s.Model("m-large", agdxlog.Tokens{In: 1200, Out: 88, CostMicros: 310})
//	s.Tool("grep", `{"path":"a.go"}`, `3 lines`)
//	s.End(wire.TaskCompleted, "")
//
// Envelopes come from wire; bodies are encoded here with a general CBOR library,
// so that the program's own readers of them are held against another encoder.
package agdxlog
