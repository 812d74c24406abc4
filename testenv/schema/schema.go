package schema

import (
	"bytes"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"

	"github.com/santhosh-tekuri/jsonschema/v6"

	"sessionfold/testenv/proc"
)

// Rows is the schema, and what was seen of it. Safe for use by any number of
// goroutines.
type Rows struct {
	compiled *jsonschema.Schema

	mu   sync.Mutex
	seen map[string]bool
	n    int
}

// compiled is the schema, read once in a process.
var compiled = sync.OnceValues(func() (*jsonschema.Schema, error) {
	root, err := proc.Root()
	if err != nil {
		return nil, err
	}
	b, err := os.ReadFile(filepath.Join(root, "docs", "schema", "change-row.schema.json"))
	if err != nil {
		return nil, fmt.Errorf("schema: %w", err)
	}
	doc, err := jsonschema.UnmarshalJSON(bytes.NewReader(b))
	if err != nil {
		return nil, fmt.Errorf("schema: %w", err)
	}
	c := jsonschema.NewCompiler()
	if err := c.AddResource("change-row.json", doc); err != nil {
		return nil, fmt.Errorf("schema: %w", err)
	}
	return c.Compile("change-row.json") // against the draft that it names
})

// New reads the schema.
func New() (*Rows, error) {
	c, err := compiled()
	return &Rows{compiled: c, seen: map[string]bool{}}, err
}

// Check holds the value of one record of the changes topic against the schema.
func (r *Rows) Check(value []byte) error {
	v, err := jsonschema.UnmarshalJSON(bytes.NewReader(value))
	if err == nil {
		err = r.compiled.Validate(v)
	}
	if err != nil {
		return fmt.Errorf("schema: change row %.2000s: %w", value, err)
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	r.n++
	note("", v, r.seen)
	return nil
}

// Checked is how many rows were right.
func (r *Rows) Checked() int {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.n
}

// Unseen lists the properties of the schema that no row had, as paths:
// "summaries[].waiting.reason".
func (r *Rows) Unseen() []string {
	r.mu.Lock()
	defer r.mu.Unlock()
	var out []string
	for _, p := range r.Properties() {
		if !r.seen[p] {
			out = append(out, p)
		}
	}
	return out
}

// Properties lists all properties of the schema, as paths, in order.
func (r *Rows) Properties() []string {
	all := map[string]bool{}
	properties("", r.compiled, all)
	return slices.Sorted(maps.Keys(all))
}

func properties(path string, s *jsonschema.Schema, all map[string]bool) {
	for ; s != nil && s.Ref != nil && len(s.Properties) == 0; s = s.Ref {
	}
	if s == nil {
		return
	}
	for name, p := range s.Properties {
		at := strings.TrimPrefix(path+"."+name, ".")
		all[at] = true
		properties(at, p, all)
	}
	if s.Items2020 != nil {
		properties(path+"[]", s.Items2020, all)
	}
}

// note adds the paths of a value.
func note(path string, v any, seen map[string]bool) {
	switch v := v.(type) {
	case map[string]any:
		for name, e := range v {
			at := strings.TrimPrefix(path+"."+name, ".")
			seen[at] = true
			note(at, e, seen)
		}
	case []any:
		for _, e := range v {
			note(path+"[]", e, seen)
		}
	}
}
