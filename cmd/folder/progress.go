package main

import (
	"fmt"

	"github.com/schollz/progressbar/v3"
)

// progress tells how far a long work is: a bar on a terminal, elsewhere a line
// for every tenth.
type progress struct {
	c           *cli
	what        string
	total, done int64
	told        int64 // tenths
	bar         *progressbar.ProgressBar
	aside       bool // the bar tells of something else for the moment
}

func (c *cli) progress(total int64, what string) *progress {
	p := &progress{c: c, what: what, total: total}
	if terminal(c.err) {
		p.bar = c.bar(total, what, true)
	}
	return p
}

// add is told of bytes that were read.
func (p *progress) add(n int) {
	if p.bar != nil {
		if p.aside {
			p.aside = false
			p.bar.Describe(p.what)
		}
		_ = p.bar.Add(n)
		return
	}
	p.done += int64(n)
	if p.total <= 0 {
		return
	}
	if tenths := p.done * 10 / p.total; tenths > p.told && tenths < 10 {
		p.told = tenths
		fmt.Fprintf(p.c.err, "%s: %d0 %%\n", p.what, tenths)
	}
}

// looking is told how much of what a topic has was looked at.
func (p *progress) looking(topic string, read, total int64) {
	if p.bar != nil {
		p.aside = true
		p.bar.Describe(fmt.Sprintf("looking what %s has: %d of %d", topic, read, total))
	}
}

func (p *progress) close() {
	if p.bar != nil {
		_ = p.bar.Finish()
	}
}
