package agdxgen

var agents = []string{
	"planner", "researcher", "coder", "reviewer", "tester", "librarian", "analyst", "support-desk",
	"billing-bot", "release-manager", "data-cleaner", "translator", "summarizer", "scheduler", "monitor", "archivist",
	"incident-lead", "query-writer", "doc-writer", "security-scan", "cost-watcher", "migrator", "labeler", "router",
}

var models = []string{"atlas-large", "atlas-small", "brook-7b", "cedar-pro", "cedar-mini"}

var namespaces = []string{"shop", "platform", "finance", "research", "support"}

var languages = []string{"rust", "python", "go", "typescript"}

var topics = []string{
	"checkout latency", "the invoice rounding error", "flaky upload tests", "last night's outage", "index rebuild times",
	"the new tax rules", "retention settings", "unused feature flags", "slow search on mobile", "duplicate customers",
	"the migration to arm64", "certificate renewal", "query plans of the report job", "the onboarding guide", "stale caches",
	"memory growth in the gateway", "a broken link on the start page", "rate limits of the partner API",
}

// tools come with arguments in which one number varies.
var tools = []struct{ name, args string }{
	{"grep", `{"pattern":"timeout","path":"src/module%d.go"}`},
	{"read_file", `{"path":"docs/page-%d.md"}`},
	{"run_tests", `{"package":"./pkg/p%d","race":true}`},
	{"sql", `{"query":"select count(*) from orders where shard = %d","timeout_ms":2000}`},
	{"http_get", `{"url":"https://example.org/items/%d","headers":{"accept":"application/json"}}`},
	{"write_file", `{"path":"out/result-%d.json","content":"{}"}`},
	{"search", `{"query":"known issue %d","limit":10}`},
	{"calendar", `{"day":%d,"zone":"UTC"}`},
}
