package main

import (
	"errors"
	"fmt"

	"sessionfold/wire"
)

// errResync says that a change may have been missed: what is known must be
// loaded anew.
var errResync = errors.New("resync")

// ledger knows how far the rows of each source came, and what they said changed
// since it was last asked. A source of another generation is another source.
type ledger struct {
	seq     map[wire.ChangeSource]uint64
	changed map[wire.ID]map[wire.ChangeSource]uint64 // the last position of a session, by source
}

func newLedger() *ledger {
	return &ledger{seq: map[wire.ChangeSource]uint64{}, changed: map[wire.ID]map[wire.ChangeSource]uint64{}}
}

// add takes one row. Rows of a source count 1, 2, 3 and so on: a number that
// came is a repeat, a number that is left out is a loss.
func (l *ledger) add(r *wire.ChangeRow) error {
	last, known := l.seq[r.Source]
	switch {
	case known && r.Seq <= last:
		return nil
	case known && r.Seq != last+1:
		return fmt.Errorf("%w: row %d of %s[%d] followed row %d", errResync, r.Seq, r.Source.Topic, r.Source.Partition, last)
	case r.Truncated || len(r.Positions) != len(r.Sessions):
		return fmt.Errorf("%w: row %d of %s[%d] does not name all that changed", errResync, r.Seq, r.Source.Topic, r.Source.Partition)
	}
	l.seq[r.Source] = r.Seq
	for i, id := range r.Sessions {
		if l.changed[id] == nil {
			l.changed[id] = map[wire.ChangeSource]uint64{}
		}
		l.changed[id][r.Source] = r.Positions[i].Offset
	}
	return nil
}

// take gives the sessions that changed, each with the positions that a view of
// it must have reached, and forgets them.
func (l *ledger) take() map[wire.ID]map[wire.ChangeSource]uint64 {
	c := l.changed
	l.changed = map[wire.ID]map[wire.ChangeSource]uint64{}
	return c
}

// reached says that a view includes what the rows told of. A row is committed a
// moment before the worker's index shows it.
func reached(info *wire.SessionInfo, want map[wire.ChangeSource]uint64) bool {
	have := map[wire.ChangeSource]uint64{}
	for _, f := range info.Frontier {
		if f.Folded != nil {
			have[wire.ChangeSource{Topic: f.Topic, Generation: f.TopicGeneration, Partition: f.PartitionID}] = *f.Folded
		}
	}
	for src, offset := range want {
		if folded, ok := have[src]; !ok || folded < offset {
			return false
		}
	}
	return true
}
