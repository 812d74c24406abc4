package sink

import (
	"fmt"
	"strconv"
	"strings"
)

// Want is what a topic must be like and what this user must be allowed to do
// with it.
type Want struct {
	Topic      string
	Policy     string // cleanup.policy
	Partitions int32  // at least
	MaxBytes   int    // max.message.bytes, at least; 0: any
	Broker     bool   // records are better timed by the broker than by their producers
	Read       bool   // access that is needed
	Write      bool
	Create     bool // this program makes it when it is missing
	Grow       bool // this program adds partitions
}

// WantChanges is the changes topic.
func (t *Topics) WantChanges() Want {
	return Want{
		Topic: t.cfg.ChangesTopic, Policy: "delete", Partitions: t.cfg.ChangesPartitions, MaxBytes: MaxMessageBytes,
		Read: true, Write: true, Create: !t.cfg.CheckOnly,
	}
}

// WantChangelog is the changelog of a source topic with so many partitions.
func (t *Topics) WantChangelog(sourceTopic string, partitions int32) Want {
	return Want{
		Topic: t.Changelog(sourceTopic), Policy: "compact", Partitions: partitions, MaxBytes: MaxMessageBytes,
		Read: true, Write: true, Create: !t.cfg.CheckOnly, Grow: true,
	}
}

// WantSource is a topic that is folded. A source is the log of a topic from its
// first record on, so compaction, which takes records out of it, is wrong.
func WantSource(topic string) Want {
	return Want{Topic: topic, Policy: "delete", Partitions: 1, Broker: true, Read: true}
}

// settings are those that the topic is created with.
func (w *Want) settings() map[string]*string {
	m := map[string]*string{"cleanup.policy": new(w.Policy)}
	if w.MaxBytes > 0 {
		m["max.message.bytes"] = new(strconv.Itoa(w.MaxBytes))
	}
	if w.Broker {
		m["message.timestamp.type"] = new(brokerTime)
	}
	return m
}

func (w *Want) String() string {
	s := fmt.Sprintf("%d partitions, cleanup.policy=%s", w.Partitions, w.Policy)
	if w.MaxBytes > 0 {
		s += fmt.Sprintf(" and max.message.bytes=%d", w.MaxBytes)
	}
	if w.Broker {
		s += " and message.timestamp.type=" + brokerTime
	}
	return s
}

const brokerTime = "LogAppendTime"

// Level says how bad a Finding is.
type Level uint8

// The levels.
const (
	Note    Level = iota // as it may be
	Warning              // it works, and something can be lost or misread
	Wrong                // a worker cannot work, or would lose data
)

func (l Level) String() string { return [...]string{"note", "warning", "wrong"}[l] }

// A Finding is something about a topic or a right that a person should know.
type Finding struct {
	Level Level
	On    string // "topic x", "group x", "transactional id x"
	What  string
	Hint  string
}

// faults are what is wrong with the settings of an existing topic.
func (w *Want) faults(have map[string]string) (fs []Finding) {
	add := func(l Level, hint, what string, args ...any) {
		fs = append(fs, Finding{l, "topic " + w.Topic, fmt.Sprintf(what, args...), hint})
	}
	if v, ok := have["cleanup.policy"]; ok && !samePolicy(v, w.Policy) {
		why := "rows that must stay would expire, or rows that must go would stay. Alter the topic or choose another name"
		if !w.Write {
			why = "compaction takes records away that were not folded yet, and nothing shows it. Alter the topic"
		}
		add(Wrong, why, "has cleanup.policy=%s and needs %s", v, w.Policy)
	}
	if n, err := strconv.Atoi(have["max.message.bytes"]); err == nil && n < w.MaxBytes {
		add(Wrong, "alter the topic", "has max.message.bytes=%d and needs at least %d", n, w.MaxBytes)
	}
	if v, ok := have["message.timestamp.type"]; ok && w.Broker && v != brokerTime {
		add(Warning, "alter the topic, unless its producers' clocks are to be trusted", "has message.timestamp.type=%s: its producers' clocks order the events of a session over topics. %s is better", v, brokerTime)
	}
	return fs
}

func samePolicy(have, want string) bool {
	for w := range strings.SplitSeq(have, ",") {
		if strings.TrimSpace(w) != want {
			return false
		}
	}
	return true
}
