package config

import (
	"reflect"
	"strings"
	"time"
)

// EnvPrefix begins every environment variable of the program.
const EnvPrefix = "FOLDER_"

// A Field is one configurable value, as its tags describe it.
type Field struct {
	Path    string // "kafka.group"; below a list element only the key
	Type    string // text, bool, integer, duration, size, list of text, list
	Default string
	Words   []string // the allowed ones, when there are any
	Doc     string
	Secret  bool
	Element []Field // of a list: what an element holds

	unsigned bool
}

// Env is the field's environment variable.
func (f *Field) Env() string {
	return EnvPrefix + strings.ToUpper(strings.ReplaceAll(f.Path, ".", "_"))
}

// A Section is one top-level key with its fields; a list is a section with one
// field whose path is the section's name.
type Section struct {
	Name, Doc string
	Fields    []Field
}

// Schema is derived from Config, in the order of its fields.
var Schema = schemaOf(reflect.TypeFor[Config]())

func schemaOf(t reflect.Type) []Section {
	var out []Section
	for i := range t.NumField() {
		sf := t.Field(i)
		name, doc := sf.Tag.Get("koanf"), sf.Tag.Get("doc")
		s := Section{Name: name, Doc: doc}
		if sf.Type.Kind() == reflect.Slice {
			s.Fields = []Field{{Path: name, Type: "list", Doc: doc, Element: fieldsOf(sf.Type.Elem(), "")}}
		} else {
			s.Fields = fieldsOf(sf.Type, name+".")
		}
		out = append(out, s)
	}
	return out
}

func fieldsOf(t reflect.Type, prefix string) []Field {
	var out []Field
	for i := range t.NumField() {
		sf := t.Field(i)
		out = append(out, Field{
			Path:     prefix + sf.Tag.Get("koanf"),
			Type:     typeName(sf.Type),
			Default:  sf.Tag.Get("default"),
			Words:    strings.Fields(sf.Tag.Get("one")),
			Doc:      sf.Tag.Get("doc"),
			Secret:   sf.Type == reflect.TypeFor[Secret](),
			unsigned: sf.Type.Kind() == reflect.Uint64,
		})
	}
	return out
}

func typeName(t reflect.Type) string {
	switch {
	case t == reflect.TypeFor[time.Duration]():
		return "duration"
	case t == reflect.TypeFor[Size]():
		return "size"
	case t.Kind() == reflect.Slice:
		return "list of text"
	case t.Kind() == reflect.Bool:
		return "bool"
	case t.Kind() == reflect.Int64 || t.Kind() == reflect.Uint64:
		return "integer"
	}
	return "text"
}

// defaultValue parses the default; the tags are ours, so a bad one is a bug.
func (f *Field) defaultValue() any {
	switch f.Type {
	case "list":
		return []any{}
	case "list of text":
		return parseList(f.Default)
	}
	v, err := f.parse(f.Default)
	if err != nil {
		panic("config: default of " + f.Path + ": " + err.Error())
	}
	return v
}

// Fields lists every field outside of list elements.
func Fields() []Field {
	var out []Field
	for _, s := range Schema {
		out = append(out, s.Fields...)
	}
	return out
}
