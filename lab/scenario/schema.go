package scenario

import (
	"bytes"
	_ "embed"
	"encoding/json"
	"fmt"
	"math/big"
	"slices"
	"sort"
	"strings"
	"sync"
	"time"

	"github.com/santhosh-tekuri/jsonschema/v6"
	"github.com/santhosh-tekuri/jsonschema/v6/kind"
)

// Schema is the JSON Schema of a scenario file (draft 2020-12), for editors and other tools.
//
//go:embed schema.json
var Schema []byte

// schemaURL names the embedded schema to its compiler; it is never fetched.
const schemaURL = "embedded:///schema.json"

// schema is the compiled schema with its document, which provides names, titles and examples for
// messages.
type schema struct {
	compiled *jsonschema.Schema
	doc      any
}

// loadSchema compiles the embedded schema once. It fails only if this package is broken, which a
// test would show.
var loadSchema = sync.OnceValues(func() (*schema, error) {
	doc, err := jsonschema.UnmarshalJSON(bytes.NewReader(Schema))
	if err != nil {
		return nil, fmt.Errorf("reading schema.json: %w", err)
	}
	c := jsonschema.NewCompiler()
	c.AssertFormat()
	c.RegisterFormat(&jsonschema.Format{Name: "go-duration", Validate: checkDuration})
	if err := c.AddResource(schemaURL, doc); err != nil {
		return nil, fmt.Errorf("adding schema.json: %w", err)
	}
	compiled, err := c.Compile(schemaURL)
	if err != nil {
		return nil, fmt.Errorf("compiling schema.json: %w", err)
	}
	return &schema{compiled: compiled, doc: doc}, nil
})

// checkDuration checks what the pattern of a duration cannot express: that it fits into 292
// years.
func checkDuration(v any) error {
	text, ok := v.(string)
	if !ok {
		return nil
	}
	_, err := time.ParseDuration(text)
	return err
}

// validate reports every violation of the schema in the document.
func (d *document) validate(s *schema) {
	err := s.compiled.Validate(d.plain(d.root, nil))
	if broken, ok := err.(*jsonschema.ValidationError); ok {
		d.explain(s, broken)
	} else if err != nil {
		d.fault(d.root, nil, "%v", err)
	}
}

// explain turns a validation error and its causes into errors with positions.
func (d *document) explain(s *schema, e *jsonschema.ValidationError) {
	if len(d.errs) == maxErrors {
		return
	}
	if len(e.Causes) > 0 {
		for _, cause := range e.Causes {
			d.explain(s, cause)
		}
		return
	}
	where := path(e.InstanceLocation)
	rule := s.at(e.SchemaURL)
	switch k := e.ErrorKind.(type) {
	case *kind.AdditionalProperties:
		known := rule.fields()
		for _, name := range k.Properties {
			d.faultName(where.to(name), "unknown field; %s", didYouMean(name, known))
		}
	case *kind.Required:
		for _, name := range k.Missing {
			field, _ := rule.field(name)
			d.fault(d.node(where), where.to(name), "missing; %s", s.expected(field))
		}
	case *kind.Enum:
		d.faultAt(where, "found %s; %s", found(d.node(where)), didYouMean(d.node(where).Value, texts(k.Want)))
	case *kind.Minimum:
		d.faultAt(where, "found %s; at least %s is expected", found(d.node(where)), number(k.Want))
	case *kind.ExclusiveMinimum:
		d.faultAt(where, "found %s; more than %s is expected%s", found(d.node(where)), number(k.Want), rule.example())
	case *kind.Maximum:
		d.faultAt(where, "found %s; at most %s is expected", found(d.node(where)), number(k.Want))
	case *kind.MaxItems:
		d.faultAt(where, "found %d items; at most %d are expected", k.Got, k.Want)
	case *kind.MinItems:
		d.faultAt(where, "found %d items; at least %d are expected%s", k.Got, k.Want, rule.example())
	case *kind.MaxProperties:
		d.faultAt(where, "found %d fields; at most %d are expected", k.Got, k.Want)
	case *kind.MaxLength:
		d.faultAt(where, "found %d characters; at most %d are expected", k.Got, k.Want)
	default: // Type, Const, Pattern, Format, MinLength, MinProperties: the example explains it best
		d.faultAt(where, "found %s; %s", found(d.node(where)), s.expected(rule))
	}
}

// rule is a part of the schema's document: the requirements of one value.
type rule map[string]any

// at returns the rule that a validation error refers to.
func (s *schema) at(url string) rule {
	_, pointer, _ := strings.Cut(url, "#")
	v := s.doc
	for _, step := range strings.Split(pointer, "/")[1:] {
		object, ok := v.(map[string]any)
		if !ok {
			return nil
		}
		v = object[strings.NewReplacer("~1", "/", "~0", "~").Replace(step)]
	}
	object, _ := v.(map[string]any)
	return object
}

// fields lists the names of a mapping's fields.
func (r rule) fields() []string {
	properties, _ := r["properties"].(map[string]any)
	names := make([]string, 0, len(properties))
	for name := range properties {
		names = append(names, name)
	}
	sort.Strings(names)
	return names
}

// field returns the rule of one field.
func (r rule) field(name string) (rule, bool) {
	properties, _ := r["properties"].(map[string]any)
	field, ok := properties[name].(map[string]any)
	return field, ok
}

// example returns ", as in ..." or nothing.
func (r rule) example() string {
	examples, _ := r["examples"].([]any)
	if len(examples) == 0 {
		return ""
	}
	var out bytes.Buffer
	encode := json.NewEncoder(&out)
	encode.SetEscapeHTML(false) // examples contain < and &
	if encode.Encode(examples[0]) != nil {
		return ""
	}
	text := strings.TrimSpace(out.String())
	if plain, ok := examples[0].(string); ok {
		text = plain
	}
	return ", as in " + text
}

// expected describes a rule's requirement, with an example.
func (s *schema) expected(r rule) string {
	if to, ok := r["$ref"].(string); ok {
		merged := rule{}
		for _, part := range []rule{s.at(to), r} {
			for k, v := range part {
				merged[k] = v
			}
		}
		delete(merged, "$ref")
		r = merged
	}
	what, ok := r["title"].(string)
	if !ok {
		what = kindName(r)
	}
	return "expected " + what + r.example()
}

// kindName returns the name of the type that a rule requires.
func kindName(r rule) string {
	if only, ok := r["const"]; ok {
		return fmt.Sprint(only)
	}
	if options, ok := r["enum"].([]any); ok {
		return "one of " + strings.Join(texts(options), ", ")
	}
	names := map[string]string{"string": "text", "integer": "a whole number", "number": "a number", "boolean": "true or false",
		"array": "a list", "object": "a mapping"}
	switch t := r["type"].(type) {
	case string:
		return names[t]
	case []any:
		var all []string
		for _, one := range texts(t) {
			all = append(all, names[one])
		}
		return strings.Join(all, " or ")
	}
	return "something else"
}

// didYouMean suggests the nearest of the names, or lists them all.
func didYouMean(word string, names []string) string {
	if near, ok := Nearest(word, names); ok {
		return fmt.Sprintf("did you mean %q?", near)
	}
	if len(names) == 1 {
		return "the only one is " + names[0]
	}
	return "expected one of " + strings.Join(slices.Sorted(slices.Values(names)), ", ")
}

func texts(values []any) []string {
	out := make([]string, len(values))
	for i, v := range values {
		out[i] = fmt.Sprint(v)
	}
	return out
}

func number(r *big.Rat) string {
	f, _ := r.Float64()
	return strings.TrimSuffix(fmt.Sprintf("%.15g", f), ".0")
}
