package nativegen

import (
	"math/rand/v2"
	"strings"
)

var agents = []string{
	"planner", "researcher", "coder", "reviewer", "tester", "librarian", "analyst", "support-desk",
	"release-manager", "data-cleaner", "summarizer", "monitor", "incident-lead", "migrator",
}

var models = []struct{ provider, model string }{
	{"acme", "atlas-large"}, {"acme", "atlas-small"}, {"brook", "brook-7b"}, {"cedar", "cedar-pro"}, {"cedar", "cedar-mini"},
}

var tools = []string{"grep", "read_file", "run_tests", "sql", "http_get", "write_file", "search"}

var goals = []string{
	"find out why the checkout is slow", "fix the rounding of invoices", "clean up unused feature flags", "move the job to arm64",
	"write the onboarding guide", "answer the customer about rate limits", "bring the report job below a minute", "merge duplicate customers",
}

const sentence = "the checkout waits for the tax service; a retry helps for a while, then the queue grows again until noon. "

// prose is the content of a message or a result: a few sentences, with what JSON
// must escape.
func prose(rng *rand.Rand, sentences int) string {
	return strings.Repeat(sentence, 1+rng.IntN(sentences)) + "\n\"done\"\t"
}

func pick[T any](rng *rand.Rand, of []T) T { return of[rng.IntN(len(of))] }

// one says yes once in n times.
func one(rng *rand.Rand, n int) bool { return rng.IntN(n) == 0 }
