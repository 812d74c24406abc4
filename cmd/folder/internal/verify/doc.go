// Package verify holds a running index against its log: the worker hands out one
// snapshot of what it has stored of a stream, the retained log is folded afresh
// by the worker's own code up to the same offsets, and the two are compared
// session by session. docs/decisions/0008-verify.md says why so.
package verify
