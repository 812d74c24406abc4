// Package feed writes a generated log to a broker at a pace: what `folder demo`
// shows. It does not import testing.
package feed
