package e2e

import (
	"context"
	"testing"
	"time"

	"sessionfold/testenv/agdxlog"
	"sessionfold/wire"
)

// Five kinds of bad records on every topic role: rows or numbers as the spec
// says, and the partition moves on to the good record behind them.
func TestBadRecordsOnEveryRole(t *testing.T) {
	const huge = 5 << 20
	r := newRig(t)
	r.start()
	l := r.log()
	roles := []wire.Role{
		wire.RoleLane, wire.RoleChunks, wire.RoleControl, wire.RoleMemory, wire.RoleDeadLetters,
		wire.RoleAudit, wire.RoleJournal, wire.RoleWork, wire.RoleHeartbeats,
	}
	last := map[wire.Role]wire.ID{}
	for _, role := range roles {
		s := l.Session("bad on "+role.String(), "planner")
		s.Undecodable(role)
		s.Invalid(role)
		l.NoSession(role)
		s.Huge(role, huge)
		s.Tombstone(role)
		good := l.Session("good on "+role.String(), "planner")
		last[role] = good.ID
		switch role {
		case wire.RoleMemory:
			good.Remember("m-1", "fact", "still here")
		case wire.RoleDeadLetters:
			good.DeadLetter(3)
		case wire.RoleChunks:
			good.Stream(wire.OpChat, 0)
		case wire.RoleHeartbeats:
			l.Heartbeat("p1", good.ID)
		default:
			e := good.Envelope(wire.KindEvent)
			e.Body = []byte(`{}`)
			good.Put(role, e, agdxlog.CTJSON)
		}
	}
	r.write(l.Records...)
	r.await(60 * time.Second)
	r.sameAsReplay()
	r.changesAreWhole()

	ctx, cancel := context.WithTimeout(t.Context(), 30*time.Second)
	defer cancel()
	// What a valid event of five megabytes displays follows from its role.
	hugeDisplay := map[wire.Role]string{
		wire.RoleMemory: "memory.created", wire.RoleDeadLetters: "dead_letter", wire.RoleJournal: "workflow.step",
	}
	for _, role := range roles {
		if role == wire.RoleHeartbeats {
			continue // counts for nobody: await would have seen a session
		}
		rows, err := r.events(ctx, agdxlog.NameID(r.stream, "bad on "+role.String()))
		if err != nil {
			t.Fatal(err)
		}
		var got []string
		for _, row := range rows {
			got = append(got, row.Display)
		}
		word := hugeDisplay[role]
		if word == "" {
			word = "agent.message"
		}
		want := []string{"undecodable", "invalid", word, "undecodable"}
		if role == wire.RoleDeadLetters {
			want[1] = "dead_letter" // see agdxlog.Session.Invalid
		}
		if len(got) != len(want) {
			t.Errorf("%s: rows %q, want %q", role, got, want)
			continue
		}
		for i := range want {
			if got[i] != want[i] {
				t.Errorf("%s: row %d displays %q, want %q", role, i, got[i], want[i])
			}
		}
		if rows, err := r.events(ctx, last[role]); err != nil || len(rows) == 0 {
			t.Errorf("%s: the good record behind the bad ones has %d rows, %v", role, len(rows), err)
		}
	}
	r.stop()
}
