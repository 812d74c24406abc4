// Package agdxgen makes realistic AGDX logs from a seed: many agents, children
// and hand-offs, model and tool calls, token streams, errors, pauses, cancels,
// dead letters, memory, audit and journal records, the odd bad record, and every
// kind of ending, interleaved as a busy cluster would write them.
//
// It reads no clock and draws only from its seed: the same options give the same
// bytes. It does not import testing, because `folder demo` uses it.
package agdxgen
