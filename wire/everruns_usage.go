package wire

import (
	"math"
	"math/bits"
	"time"
)

// usageOf reads {input_tokens, output_tokens, cache_read_tokens,
// cache_creation_tokens, effective_cost_usd, …} (spec settled.md, "Everruns").
func (d *everDecoder) usageOf() {
	r, n := &d.in, 0
	if !r.at('{') {
		r.skip()
		return
	}
	u := everUsage{any: true}
	rank := 0 // of the cost that was found: effective, actual, estimated
	cost := func(mine int) {
		if nano, ok := nanoOf(r.number()); ok && mine > rank {
			u.nano, u.hasCost, rank = nano, true, mine
		}
	}
	for r.open('{'); r.more('}', &n); {
		switch string(r.key()) {
		case "input_tokens":
			u.input, _ = r.count()
		case "output_tokens":
			u.output, _ = r.count()
		case "cache_read_tokens":
			u.read, u.hasRead = r.count()
		case "cache_creation_tokens":
			u.write, u.hasWrite = r.count()
		case "reasoning_tokens":
			u.reasoning, u.hasReasoning = r.count()
		case "effective_cost_usd":
			cost(3)
		case "actual_cost_usd":
			cost(2)
		case "estimated_cost_usd":
			cost(1)
		default:
			r.skip()
		}
	}
	d.e.usage = u
}

// normal turns disjoint inputs into the usage that all dialects share.
func (u *everUsage) normal() Usage {
	out := Usage{
		In: addSaturating(u.input, addSaturating(u.read, u.write)), Out: u.output,
		CacheRead: u.read, CacheWrite: u.write, Reasoning: u.reasoning, CostNano: u.nano,
	}
	for _, o := range []struct {
		has bool
		bit UsageHas
	}{{u.hasRead, HasCacheRead}, {u.hasWrite, HasCacheWrite}, {u.hasReasoning, HasReasoning}, {u.hasCost, HasCost}} {
		if o.has {
			out.Has |= o.bit
		}
	}
	return out
}

func addSaturating(a, b uint64) uint64 {
	sum, carry := bits.Add64(a, b, 0)
	if carry != 0 {
		return math.MaxUint64
	}
	return sum
}

// nanoOf reads an amount of dollars as nano-dollars, from its decimal text and
// half up, so that no binary fraction rounds it. A negative amount is none.
func nanoOf(text []byte) (nano uint64, ok bool) {
	var few [32]byte
	digits, scale, ok := decimal(few[:0], text)
	if !ok {
		return 0, false
	}
	shift := scale + 9 // of the digits' unit, in powers of ten of a nano-dollar
	var n uint64
	for i, c := range digits {
		if i-len(digits) >= shift { // below a nano-dollar: the first such digit rounds
			if i-len(digits) == shift && c >= 5 {
				n = addSaturating(n, 1)
			}
			break
		}
		n = addSaturating(mulSaturating(n, 10), uint64(c))
	}
	for ; shift > 0 && n > 0 && n < math.MaxUint64; shift-- {
		n = mulSaturating(n, 10)
	}
	return n, true
}

// decimal takes a number apart: its digits without leading zeros, and the power
// of ten of the last one. The digits are appended to an empty slice.
func decimal(digits, text []byte) (_ []byte, scale int, ok bool) {
	i, point, any := 0, false, false
	for ; i < len(text); i++ {
		c := text[i]
		switch {
		case c == '.' && !point:
			point = true
			continue
		case c < '0' || c > '9':
		default:
			any = true
			if point {
				scale--
			}
			if len(digits) > 0 || c != '0' {
				digits = append(digits, c-'0')
			}
			continue
		}
		break
	}
	if !any {
		return nil, 0, false
	}
	if i < len(text) {
		exp, ok := exponent(text[i:])
		if !ok {
			return nil, 0, false
		}
		scale += exp
	}
	return digits, scale, true
}

// exponent reads "e-5". What is beyond any amount counts as 4,000.
func exponent(text []byte) (n int, ok bool) {
	if text[0]|0x20 != 'e' || len(text) < 2 {
		return 0, false
	}
	text = text[1:]
	negative := text[0] == '-'
	if negative || text[0] == '+' {
		text = text[1:]
	}
	if len(text) == 0 {
		return 0, false
	}
	for _, c := range text {
		if c < '0' || c > '9' {
			return 0, false
		}
		n = min(n*10+int(c-'0'), 4_000)
	}
	if negative {
		n = -n
	}
	return n, true
}

// momentOf reads a moment in µs: RFC 3339, or a number of milliseconds.
func momentOf(text []byte) (micros uint64, ok bool) {
	if len(text) == 0 {
		return 0, false
	}
	if n, ok := wholeNumber(text); ok {
		return mulSaturating(n, 1000), true
	}
	t, err := time.Parse(time.RFC3339Nano, string(text))
	if err != nil || t.UnixMicro() < 0 {
		return 0, false
	}
	return uint64(t.UnixMicro()), true
}
