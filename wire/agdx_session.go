package wire

import "math"

// maxStartTags is the most tags a start keeps; the ones behind them are read
// and dropped, so that a record of any size costs no more memory.
const maxStartTags = 16

// SessionStart is the body of a start record (spec agdx.md, section 4). Agent
// and SDK are required by its format; HasSDK is set by decoding.
type SessionStart = Start

// DecodeSessionStart reads a start body; an error means that it does not fit.
func DecodeSessionStart(b []byte) (SessionStart, error) {
	var s Start
	err := s.decode(b)
	return s, err
}

// decode fills an empty start; tags are appended to Tags.
func (s *Start) decode(b []byte) error {
	const label, space, agent, sdk, parent, root, idle, budget, tags = 1, 2, 4, 8, 16, 32, 64, 128, 256
	r := cborReader{b: b}
	var seen int
	m := r.open(majorMap)
	for r.more(&m) {
		switch string(r.key()) {
		case "label":
			if r.optional(&seen, label) {
				s.Label, s.HasLabel = r.text(), true
			}
		case "namespace":
			if r.optional(&seen, space) {
				s.Namespace, s.HasNamespace = r.text(), true
			}
		case "agent":
			if r.once(&seen, agent) {
				s.Agent = r.agent()
			}
		case "sdk":
			if r.once(&seen, sdk) {
				s.readSDK(&r)
			}
		case "parent":
			if r.optional(&seen, parent) {
				s.HasParent = true
				r.id(&s.Parent)
			}
		case "root":
			if r.optional(&seen, root) {
				s.HasRoot = true
				r.id(&s.Root)
			}
		case "idle_timeout_micros":
			if r.optional(&seen, idle) {
				s.IdleTimeout, s.HasIdleTimeout = r.uint(math.MaxUint64), true
			}
		case "budget":
			if r.optional(&seen, budget) {
				s.readBudget(&r)
			}
		case "tags":
			if r.once(&seen, tags) {
				for l := r.open(majorArray); r.more(&l); {
					if tag := r.text(); len(s.Tags) < maxStartTags {
						s.Tags = append(s.Tags, tag)
					}
				}
			}
		default:
			r.skip()
		}
	}
	return r.endWith(seen&(agent|sdk) == agent|sdk)
}

func (s *Start) readSDK(r *cborReader) {
	const language, version = 1, 2
	var seen int
	s.HasSDK = true
	for m := r.open(majorMap); r.more(&m); {
		switch string(r.key()) {
		case "language":
			if r.once(&seen, language) {
				s.SDKLanguage = r.text()
			}
		case "version":
			if r.once(&seen, version) {
				s.SDKVersion = r.text()
			}
		default:
			r.skip()
		}
	}
	if seen != language|version {
		r.fail(errCBORMissing)
	}
}

func (s *Start) readBudget(r *cborReader) {
	const tokens, cost = 1, 2
	var seen int
	s.HasBudget = true
	for m := r.open(majorMap); r.more(&m); {
		switch string(r.key()) {
		case "tokens":
			if r.optional(&seen, tokens) {
				s.BudgetTokens, s.HasBudgetTokens = r.uint(math.MaxUint64), true
			}
		case "cost_micros":
			if r.optional(&seen, cost) {
				s.BudgetCostMicros, s.HasBudgetCost = r.uint(math.MaxUint64), true
			}
		default:
			r.skip()
		}
	}
}

// Marshal encodes a start body: fields in order, absent optionals left out.
func (s *Start) Marshal() []byte {
	n := 2 + count(s.HasLabel, s.HasNamespace, s.HasParent, s.HasRoot, s.HasIdleTimeout, s.HasBudget, len(s.Tags) > 0)
	b := appendHead(nil, majorMap, n)
	if s.HasLabel {
		b = appendText(appendText(b, "label"), s.Label)
	}
	if s.HasNamespace {
		b = appendText(appendText(b, "namespace"), s.Namespace)
	}
	b = appendText(appendText(b, "agent"), s.Agent)
	b = appendHead(appendText(b, "sdk"), majorMap, 2)
	b = appendText(appendText(b, "language"), s.SDKLanguage)
	b = appendText(appendText(b, "version"), s.SDKVersion)
	if s.HasParent {
		b = appendBytes(appendText(b, "parent"), s.Parent[:])
	}
	if s.HasRoot {
		b = appendBytes(appendText(b, "root"), s.Root[:])
	}
	if s.HasIdleTimeout {
		b = appendUint(appendText(b, "idle_timeout_micros"), s.IdleTimeout)
	}
	if s.HasBudget {
		b = appendHead(appendText(b, "budget"), majorMap, count(s.HasBudgetTokens, s.HasBudgetCost))
		if s.HasBudgetTokens {
			b = appendUint(appendText(b, "tokens"), s.BudgetTokens)
		}
		if s.HasBudgetCost {
			b = appendUint(appendText(b, "cost_micros"), s.BudgetCostMicros)
		}
	}
	if len(s.Tags) > 0 {
		b = appendHead(appendText(b, "tags"), majorArray, uint64(len(s.Tags)))
		for _, t := range s.Tags {
			b = appendText(b, t)
		}
	}
	return b
}

// count gives the number of set flags: the entries of a map with optionals.
func count(flags ...bool) (n uint64) {
	for _, f := range flags {
		if f {
			n++
		}
	}
	return n
}
