package config

import (
	"errors"
	"fmt"
	"os"
	"sort"
	"strings"

	"github.com/knadh/koanf/v2"
)

// Input says where values come from.
type Input struct {
	File  string            // "" is none
	Env   []string          // as os.Environ gives it
	Flags map[string]string // path → text, for the flags that were set
}

// Loaded is a configuration and where each of its values came from.
type Loaded struct {
	Config
	Warnings []string
	origin   map[string]string
}

// Origin says where the value of a path came from: "default", "file:line", the
// name of a variable or of a flag.
func (l *Loaded) Origin(path string) string {
	if o, ok := l.origin[path]; ok {
		return o
	}
	return "default"
}

// Load merges the sources and checks the result. The error of a bad
// configuration is Problems and names all of them.
func Load(in Input) (*Loaded, error) {
	l, err := Read(in)
	if err != nil {
		return nil, err
	}
	if bad := l.check(); len(bad) > 0 {
		return nil, bad
	}
	return l, nil
}

// Read merges the sources without checking what values mean together, for
// commands that need only a part of them.
func Read(in Input) (*Loaded, error) {
	layers := []*layer{defaults()}
	if in.File != "" {
		text, err := os.ReadFile(in.File)
		if err != nil {
			return nil, Problems{{Path: "--config", Where: in.File, What: "cannot be read: " + unwrapPath(err), Hint: "give the path of a YAML file"}}
		}
		layers = append(layers, readYAML(in.File, text))
	}
	env, warnings := readEnv(in.Env)
	layers = append(layers, env, readFlags(in.Flags))

	k, out := koanf.New("."), &Loaded{Warnings: warnings, origin: map[string]string{}}
	var bad Problems
	for _, l := range layers {
		bad = append(bad, l.bad...)
		for path, where := range l.origin {
			out.origin[path] = where
		}
		if err := k.Load(provider{l.values}, nil); err != nil {
			return nil, fmt.Errorf("config: merge: %w", err)
		}
	}
	if len(bad) > 0 {
		return nil, bad
	}
	if err := k.Unmarshal("", &out.Config); err != nil {
		return nil, fmt.Errorf("config: %w", err)
	}
	return out, nil
}

func unwrapPath(err error) string {
	var p *os.PathError
	if errors.As(err, &p) {
		return p.Err.Error()
	}
	return err.Error()
}

func defaults() *layer {
	l := newLayer()
	for _, f := range Fields() {
		l.values[f.Path] = f.defaultValue()
	}
	return l
}

// text takes the text of a flag or variable as the value of a field.
func (l *layer) text(f *Field, s, where string) {
	switch f.Type {
	case "list":
		if !strings.HasPrefix(strings.TrimSpace(s), "[") { // a block, which stands on lines of its own
			s = "\n  " + strings.ReplaceAll(s, "\n", "\n  ")
		}
		sub := readYAML(where, []byte(f.Path+": "+s))
		l.bad = append(l.bad, sub.bad...)
		if v, ok := sub.values[f.Path]; ok {
			l.values[f.Path] = v
			for path := range sub.origin {
				l.origin[path] = where
			}
		}
		return
	case "list of text":
		l.values[f.Path] = parseList(s)
	default:
		v, err := f.parse(s)
		if err != nil {
			l.fail(f.Path, where, err.Error(), "")
			return
		}
		l.values[f.Path] = v
	}
	l.origin[f.Path] = where
}

// otherVariables begin with EnvPrefix and are not configuration.
var otherVariables = []string{"FOLDER_CONFIG", "FOLDER_URL", "FOLDER_TOKEN", "FOLDER_TEST_BROKERS", "FOLDER_FIXTURES"}

// readEnv takes the variables of known fields. A variable of another name is no
// error, because the name of a Kubernetes service puts such into every pod; one
// that looks like a slip of a known name is worth a warning.
func readEnv(env []string) (*layer, []string) {
	l, known, names := newLayer(), map[string]Field{}, []string{}
	for _, f := range Fields() {
		known[f.Env()] = f
		names = append(names, f.Env())
	}
	var warnings []string
	env = append([]string(nil), env...)
	sort.Strings(env)
	for _, kv := range env {
		name, value, _ := strings.Cut(kv, "=")
		if f, ok := known[name]; ok {
			l.text(&f, value, name)
			continue
		}
		if strings.HasPrefix(name, EnvPrefix) && !contains(otherVariables, name) {
			if near := nearest(name, names); near != "" && distance(name, near) <= 2 {
				warnings = append(warnings, fmt.Sprintf("%s is not read; did you mean %s?", name, near))
			}
		}
	}
	return l, warnings
}

func readFlags(flags map[string]string) *layer {
	l := newLayer()
	for _, f := range Fields() {
		if s, ok := flags[f.Path]; ok {
			l.text(&f, s, "--"+f.Path)
		}
	}
	return l
}

// provider hands a layer to koanf.
type provider struct{ flat map[string]any }

// ReadBytes is the half of koanf's interface for sources that need a parser.
func (p provider) ReadBytes() ([]byte, error) {
	return nil, errors.New("config: a layer has no bytes")
}

// Read gives the values nested by the dots of their paths.
func (p provider) Read() (map[string]any, error) {
	out := map[string]any{}
	for path, v := range p.flat {
		section, key, nested := strings.Cut(path, ".")
		if !nested {
			out[path] = v
			continue
		}
		m, ok := out[section].(map[string]any)
		if !ok {
			m = map[string]any{}
			out[section] = m
		}
		m[key] = v
	}
	return out, nil
}
