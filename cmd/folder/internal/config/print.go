package config

import (
	"fmt"
	"reflect"
	"strconv"
	"strings"
)

// YAML is the effective configuration, each value with where it came from. It
// can be read back, secrets aside.
func (l *Loaded) YAML() string {
	var b strings.Builder
	root := reflect.ValueOf(l.Config)
	for i, s := range Schema {
		section := root.Field(i)
		if s.Fields[0].Type == "list" {
			l.printList(&b, s.Name, section)
			continue
		}
		fmt.Fprintf(&b, "%s:\n", s.Name)
		for j := range s.Fields {
			f := &s.Fields[j]
			l.printField(&b, "  ", f, f.Path, section.Field(j))
		}
	}
	return b.String()
}

func (l *Loaded) printList(b *strings.Builder, name string, list reflect.Value) {
	if list.Len() == 0 {
		fmt.Fprintf(b, "%s: []\n", name)
		return
	}
	fmt.Fprintf(b, "%s:\n", name)
	fields := fieldsOf(list.Type().Elem(), "")
	for i := range list.Len() {
		for j := range fields {
			indent := "    "
			if j == 0 {
				indent = "  - "
			}
			l.printField(b, indent, &fields[j], fmt.Sprintf("%s[%d].%s", name, i, fields[j].Path), list.Index(i).Field(j))
		}
	}
}

func (l *Loaded) printField(b *strings.Builder, indent string, f *Field, path string, v reflect.Value) {
	key := f.Path[strings.LastIndexByte(f.Path, '.')+1:]
	line := indent + key + ": " + f.text(v)
	fmt.Fprintf(b, "%-48s # %s\n", line, l.Origin(path))
}

func (f *Field) text(v reflect.Value) string {
	switch x := v.Interface().(type) {
	case Secret:
		if x != "" {
			return x.String()
		}
		return quote("")
	case string:
		return quote(x)
	case []string:
		parts := make([]string, len(x))
		for i := range x {
			parts[i] = quote(x[i])
		}
		return "[" + strings.Join(parts, ", ") + "]"
	default:
		return fmt.Sprint(x)
	}
}

// quote writes text as YAML: plain where that cannot be misread.
func quote(s string) string {
	plain := s != ""
	for i, r := range s {
		letter := r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r == '/' && i == 0
		if !letter && (i == 0 || !(r >= '0' && r <= '9' || strings.ContainsRune("._-/", r))) {
			plain = false
		}
	}
	switch strings.ToLower(s) {
	case "true", "false", "null", "yes", "no", "on", "off", "y", "n":
		plain = false
	}
	if plain {
		return s
	}
	return strconv.Quote(s)
}
