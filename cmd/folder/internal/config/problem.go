package config

import (
	"fmt"
	"strings"
)

// A Problem is one thing that is wrong, told to the person who can mend it.
type Problem struct {
	Path  string // the field
	Where string // where its value came from, "" when unknown
	What  string
	Hint  string
}

func (p Problem) String() string {
	var b strings.Builder
	b.WriteString(p.Path)
	if p.Where != "" {
		fmt.Fprintf(&b, " (%s)", p.Where)
	}
	b.WriteString(": " + p.What)
	if p.Hint != "" {
		b.WriteString("\n    hint: " + p.Hint)
	}
	return b.String()
}

// Problems is the error of a bad configuration: all of its problems at once.
type Problems []Problem

func (ps Problems) Error() string {
	lines := make([]string, 0, len(ps)+1)
	noun := "problems"
	if len(ps) == 1 {
		noun = "problem"
	}
	lines = append(lines, fmt.Sprintf("configuration: %d %s", len(ps), noun))
	for _, p := range ps {
		lines = append(lines, "  "+p.String())
	}
	return strings.Join(lines, "\n")
}

// nearest gives the known word that needs the fewest edits, "" when none is
// close enough to be what was meant.
func nearest(word string, known []string) string {
	best, at := len(word)/2+1, ""
	for _, k := range known {
		if d := distance(word, k); d < best {
			best, at = d, k
		}
	}
	return at
}

// distance is the Levenshtein distance with neighbours swapped counted as one.
func distance(a, b string) int {
	prev2, prev, cur := make([]int, len(b)+1), make([]int, len(b)+1), make([]int, len(b)+1)
	for j := range prev {
		prev[j] = j
	}
	for i := 1; i <= len(a); i++ {
		cur[0] = i
		for j := 1; j <= len(b); j++ {
			cost := 1
			if a[i-1] == b[j-1] {
				cost = 0
			}
			cur[j] = min(prev[j]+1, cur[j-1]+1, prev[j-1]+cost)
			if i > 1 && j > 1 && a[i-1] == b[j-2] && a[i-2] == b[j-1] {
				cur[j] = min(cur[j], prev2[j-2]+1)
			}
		}
		prev2, prev, cur = prev, cur, prev2
	}
	return prev[len(b)]
}
