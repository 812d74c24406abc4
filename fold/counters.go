package fold

import (
	"math"
	"math/bits"

	"sessionfold/wire"
)

// Counters are sums over the records of one session in one source. They
// saturate at 2^64-1 and set FlagOverflow.
type Counters struct {
	ModelCalls, ToolCalls                     uint64
	TokensIn, TokensOut                       uint64
	CacheRead, CacheWrite, Reasoning          uint64
	CostNano, Unpriced, Errors, Issues, Turns uint64
}

// sat adds n to *c, holding it at the maximum; over becomes true when it would
// have passed it. A saturating sum of unsigned numbers does not depend on the
// order of its terms, so partials still merge.
func sat(c *uint64, n uint64, over *bool) {
	sum, carry := bits.Add64(*c, n, 0)
	if carry != 0 {
		sum, *over = math.MaxUint64, true
	}
	*c = sum
}

// countFacts are the facts that add to Counters.
const countFacts = wire.FactModelCall | wire.FactToolCall | wire.FactError | wire.FactIssue | wire.FactUnpriced | wire.FactUsage

// count adds what the record counts for; it reports an overflow.
func (c *Counters) count(facts wire.Fact, u *wire.Usage) (over bool) {
	one := func(f wire.Fact, n *uint64) {
		if facts&f != 0 {
			sat(n, 1, &over)
		}
	}
	one(wire.FactModelCall, &c.ModelCalls)
	one(wire.FactToolCall, &c.ToolCalls)
	one(wire.FactError, &c.Errors)
	one(wire.FactIssue, &c.Issues)
	one(wire.FactUnpriced, &c.Unpriced)
	if facts&wire.FactUsage != 0 && u != nil {
		c.use(u, &over)
	}
	return over
}

func (c *Counters) use(u *wire.Usage, over *bool) {
	sat(&c.TokensIn, u.In, over)
	sat(&c.TokensOut, u.Out, over)
	if u.Has&wire.HasCacheRead != 0 {
		sat(&c.CacheRead, u.CacheRead, over)
	}
	if u.Has&wire.HasCacheWrite != 0 {
		sat(&c.CacheWrite, u.CacheWrite, over)
	}
	if u.Has&wire.HasReasoning != 0 {
		sat(&c.Reasoning, u.Reasoning, over)
	}
	if u.Has&wire.HasCost != 0 {
		sat(&c.CostNano, u.CostNano, over)
	}
}

// sum adds the counters of another source; it reports an overflow.
func (c *Counters) sum(o *Counters) (over bool) {
	sat(&c.ModelCalls, o.ModelCalls, &over)
	sat(&c.ToolCalls, o.ToolCalls, &over)
	sat(&c.TokensIn, o.TokensIn, &over)
	sat(&c.TokensOut, o.TokensOut, &over)
	sat(&c.CacheRead, o.CacheRead, &over)
	sat(&c.CacheWrite, o.CacheWrite, &over)
	sat(&c.Reasoning, o.Reasoning, &over)
	sat(&c.CostNano, o.CostNano, &over)
	sat(&c.Unpriced, o.Unpriced, &over)
	sat(&c.Errors, o.Errors, &over)
	sat(&c.Issues, o.Issues, &over)
	sat(&c.Turns, o.Turns, &over)
	return over
}
