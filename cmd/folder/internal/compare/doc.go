// Package compare holds two workers against each other, session by session and
// row by row, up to what may differ between two honest folds of one log: topic
// generations, live heads, what the broker still retains, and everything that
// depends on the clock.
package compare
