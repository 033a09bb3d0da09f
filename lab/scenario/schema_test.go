package scenario

import (
	"bytes"
	"maps"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/santhosh-tekuri/jsonschema/v6"
)

// rule is a part of the schema: the requirements of one value.
type rule = map[string]any

func schemaOf(t *testing.T) rule {
	t.Helper()
	doc, err := jsonschema.UnmarshalJSON(bytes.NewReader(Schema))
	if err != nil {
		t.Fatal(err)
	}
	return doc.(rule)
}

// ruleAt returns the part of the schema that a reference such as #/$defs/url names.
func ruleAt(schema rule, pointer string) rule {
	for _, step := range strings.Split(pointer, "/")[1:] {
		schema, _ = schema[step].(rule)
	}
	return schema
}

// rulesOf returns the rules of a mapping's fields, by name.
func rulesOf(r rule) rule {
	properties, _ := r["properties"].(rule)
	return properties
}

func TestSchemaIsValid(t *testing.T) {
	doc := schemaOf(t)
	draft := jsonschema.Draft2020
	if got := doc["$schema"]; got != draft.String() && got != "https://json-schema.org/draft/2020-12/schema" {
		t.Errorf("$schema is %v", got)
	}
	meta, err := jsonschema.NewCompiler().Compile("https://json-schema.org/draft/2020-12/schema")
	if err != nil {
		t.Fatal(err)
	}
	if err := meta.Validate(doc); err != nil {
		t.Errorf("schema.json does not follow its own draft: %v", err)
	}
}

// resolved follows a rule's $ref.
func resolved(s, r rule) rule {
	if to, ok := r["$ref"].(string); ok {
		return ruleAt(s, to)
	}
	return r
}

// TestEveryFieldIsDescribed checks that every field has a description and, unless its values are
// listed, an example, which errors quote.
func TestEveryFieldIsDescribed(t *testing.T) {
	s := schemaOf(t)
	var walk func(where string, v any)
	walk = func(where string, v any) {
		object, ok := v.(map[string]any)
		if !ok {
			return
		}
		if object["type"] == "object" && object["properties"] == nil && object["additionalProperties"] == nil {
			t.Errorf("%s is open to anything", where)
		}
		for name, field := range rulesOf(object) {
			field := field.(rule)
			if field["description"] == nil {
				t.Errorf("%s.%s has no description", where, name)
			}
			_, listed := field["enum"]
			_, fixed := field["const"]
			if name != "equals" && !listed && !fixed && resolved(s, field)["examples"] == nil {
				t.Errorf("%s.%s has no example", where, name)
			}
		}
		for key, value := range object {
			walk(where+"."+key, value)
			if list, ok := value.([]any); ok {
				for _, item := range list {
					walk(where+"."+key, item)
				}
			}
		}
	}
	walk("", s)
}

// TestExamplesFollowTheirRules validates every example of a named rule by that rule.
func TestExamplesFollowTheirRules(t *testing.T) {
	s := schemaOf(t)
	for name := range ruleAt(s, "#/$defs") {
		c := jsonschema.NewCompiler()
		if err := c.AddResource("schema.json", s); err != nil {
			t.Fatal(err)
		}
		one, err := c.Compile("schema.json" + "#/$defs/" + name)
		if err != nil {
			t.Fatal(err)
		}
		for _, example := range ruleAt(s, "#/$defs/"+name)["examples"].([]any) {
			if err := one.Validate(example); err != nil {
				t.Errorf("%s: %v", name, err)
			}
		}
	}
}

// TestSchemaCoversTheStructs checks that schema and structs have the same fields at every level:
// the decoder would ignore a field that only the schema has.
func TestSchemaCoversTheStructs(t *testing.T) {
	s := schemaOf(t)
	root := fieldsOf(reflect.TypeFor[File]())
	root["slo"] = nil // readSLO reads it: text or a mapping
	compareFields(t, s, "scenario", s, root)
}

// ofOthers are the fields of a struct that the schema does not permit in a place.
var ofOthers = map[string][]string{
	"classes": {"repeat", "array", "corpus"},
	"steps":   {"repeat", "array", "corpus", "weight"},
}

func compareFields(t *testing.T, s rule, where string, r rule, fields map[string]reflect.Type) {
	t.Helper()
	names := slices.Sorted(maps.Keys(fields))
	if got := slices.Sorted(maps.Keys(rulesOf(r))); !slices.Equal(got, names) {
		t.Errorf("%s: the schema has %v, the struct %v", where, got, names)
		return
	}
	for name, field := range fields {
		rule := resolved(s, rulesOf(r)[name].(rule))
		for field != nil && (field.Kind() == reflect.Pointer || field.Kind() == reflect.Slice) {
			if field.Kind() == reflect.Slice {
				items, ok := rule["items"].(map[string]any)
				if !ok {
					t.Errorf("%s.%s: a list in the struct alone", where, name)
				}
				rule = resolved(s, items)
			}
			field = field.Elem()
		}
		if field != nil && field.Kind() == reflect.Struct {
			of := fieldsOf(field)
			for _, other := range ofOthers[name] {
				delete(of, other)
			}
			compareFields(t, s, where+"."+name, rule, of)
		}
	}
}

// fieldsOf returns the fields that YAML fills in, by their names there.
func fieldsOf(t reflect.Type) map[string]reflect.Type {
	out := map[string]reflect.Type{}
	for field := range t.Fields() {
		name, options, _ := strings.Cut(field.Tag.Get("yaml"), ",")
		switch {
		case options == "inline":
			inlined := field.Type
			if inlined.Kind() == reflect.Pointer {
				inlined = inlined.Elem()
			}
			for inner, of := range fieldsOf(inlined) {
				out[inner] = of
			}
		case name != "-":
			out[name] = field.Type
		}
	}
	return out
}
