package fold

import "sessionfold/wire"

// changeRows gives the step's change rows (spec session-index.md, section 10):
// one, or one per MaxChangeSessions sessions, each with its own seq and all with
// the step's range. A step that changed no session still has its row, so that
// every committed step of a source is seen in the order of its seq; but one that
// covers no offset, which only makes a lost range known, has none.
//
// With summaries a row also says what this source alone knows of each session: a
// view of one partial, in which nothing depends on the clock. Such rows name
// fewer sessions, so that they stay well below what a broker takes.
func changeRows(cfg *Config, s *Step) []wire.ChangeRow {
	if s.Frontier.Next == s.From {
		return nil
	}
	src := wire.ChangeSource{Topic: s.Source.Topic, Generation: s.Source.Generation, Partition: s.Source.Partition}
	ids := make([]wire.ID, len(s.Sessions))
	pos := make([]wire.ChangePosition, len(s.Sessions))
	for i := range s.Sessions {
		ids[i] = s.Sessions[i].ID
		pos[i] = wire.ChangePosition{Topic: src.Topic, Generation: src.Generation, Partition: src.Partition, Offset: s.Sessions[i].Last}
	}
	most := wire.MaxChangeSessions
	var views []wire.SessionInfo
	if cfg.Summaries {
		most, views = maxSummaries, summaries(s)
	}
	rows := make([]wire.ChangeRow, 0, len(ids)/most+1)
	for seq := s.Before.Seq + 1; len(rows) == 0 || len(ids) > 0; seq++ {
		n := min(len(ids), most)
		rows = append(rows, wire.ChangeRow{
			V: 1, Stream: s.Source.Stream, Source: src, Seq: seq, From: s.From, To: s.To,
			Sessions: ids[:n:n], Positions: pos[:n:n],
		})
		ids, pos = ids[n:], pos[n:]
		if views != nil {
			rows[len(rows)-1].Summaries, views = views[:n:n], views[n:]
		}
	}
	return rows
}

// maxSummaries is the most sessions of a row with summaries: a view is a few
// hundred bytes, at the very most about twelve thousand.
const maxSummaries = 50

func summaries(s *Step) []wire.SessionInfo {
	views := make([]wire.SessionInfo, len(s.Sessions))
	for i := range s.Sessions {
		t := &s.Sessions[i]
		views[i] = View(Merge(t.ID, []Keyed{{Source: s.Source, Partial: t.New, Next: s.Frontier.Next}}), ViewInput{})
	}
	return views
}
