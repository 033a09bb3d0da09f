package document

import (
	"bytes"
	"encoding/json"
	"fmt"
	"math/big"
	"sort"
	"strings"

	"dyno/lab/record/quantity"

	"github.com/santhosh-tekuri/jsonschema/v6"
	"github.com/santhosh-tekuri/jsonschema/v6/kind"
)

// schemaURL names the schema to its compiler; it is never fetched.
const schemaURL = "embedded:///schema.json"

// Schema is a compiled schema with its document, which provides names, titles and examples for
// messages.
type Schema struct {
	compiled *jsonschema.Schema
	doc      any
}

// Compile compiles a JSON Schema.
func Compile(text []byte) (*Schema, error) {
	doc, err := jsonschema.UnmarshalJSON(bytes.NewReader(text))
	if err != nil {
		return nil, fmt.Errorf("reading the schema: %w", err)
	}
	c := jsonschema.NewCompiler()
	c.AssertFormat()
	c.RegisterFormat(&jsonschema.Format{Name: "go-duration", Validate: checkDuration})
	if err := c.AddResource(schemaURL, doc); err != nil {
		return nil, fmt.Errorf("adding the schema: %w", err)
	}
	compiled, err := c.Compile(schemaURL)
	if err != nil {
		return nil, fmt.Errorf("compiling the schema: %w", err)
	}
	return &Schema{compiled: compiled, doc: doc}, nil
}

// checkDuration checks what the pattern of a duration cannot express: that it is not too long.
func checkDuration(v any) error {
	text, ok := v.(string)
	if !ok {
		return nil
	}
	_, err := quantity.Bounded(text)
	return err
}

// Fields lists the names of the fields that the schema permits in a mapping at the top.
func (d *Document) Fields(name string) []string { return d.rules.at("#/properties/" + name).fields() }

// Validate reports every violation of the schema in the document.
func (d *Document) Validate() {
	err := d.rules.compiled.Validate(d.plain(d.root, nil))
	if broken, ok := err.(*jsonschema.ValidationError); ok {
		d.explain(broken)
	} else if err != nil {
		d.fault(d.root, nil, "%v", err)
	}
}

// explain turns a validation error and its causes into errors with positions.
func (d *Document) explain(e *jsonschema.ValidationError) {
	if len(d.errs) == maxErrors {
		return
	}
	if len(e.Causes) > 0 {
		for _, cause := range e.Causes {
			d.explain(cause)
		}
		return
	}
	where := Path(e.InstanceLocation)
	s := d.rules
	rule := s.at(e.SchemaURL)
	switch k := e.ErrorKind.(type) {
	case *kind.AdditionalProperties:
		known := rule.fields()
		for _, name := range k.Properties {
			d.FaultName(where.To(name), "unknown field; %s", DidYouMean(name, known))
		}
	case *kind.Required:
		for _, name := range k.Missing {
			field, _ := rule.field(name)
			d.fault(d.Node(where), where.To(name), "missing; %s", s.expected(field))
		}
	case *kind.Enum:
		d.FaultAt(where, "found %s; %s", found(d.Node(where)), DidYouMean(d.Node(where).Value, texts(k.Want)))
	case *kind.Minimum:
		d.FaultAt(where, "found %s; at least %s is expected", found(d.Node(where)), number(k.Want))
	case *kind.ExclusiveMinimum:
		d.FaultAt(where, "found %s; more than %s is expected%s", found(d.Node(where)), number(k.Want), rule.example())
	case *kind.Maximum:
		d.FaultAt(where, "found %s; at most %s is expected", found(d.Node(where)), number(k.Want))
	case *kind.MaxItems:
		d.FaultAt(where, "found %d items; at most %d are expected", k.Got, k.Want)
	case *kind.MinItems:
		d.FaultAt(where, "found %d items; at least %d are expected%s", k.Got, k.Want, rule.example())
	case *kind.MaxProperties:
		d.FaultAt(where, "found %d fields; at most %d are expected", k.Got, k.Want)
	case *kind.MaxLength:
		d.FaultAt(where, "found %d characters; at most %d are expected", k.Got, k.Want)
	default: // Type, Const, Pattern, Format, MinLength, MinProperties: the example explains it best
		d.FaultAt(where, "found %s; %s%s", found(d.Node(where)), s.expected(rule), s.meant(rule, d.Node(where)))
	}
}

// rule is a part of the schema's document: the requirements of one value.
type rule map[string]any

// at returns the rule that a validation error refers to.
func (s *Schema) at(url string) rule {
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

func (r rule) fields() []string {
	properties, _ := r["properties"].(map[string]any)
	names := make([]string, 0, len(properties))
	for name := range properties {
		names = append(names, name)
	}
	sort.Strings(names)
	return names
}

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

// whole returns a rule with the fields of the rule that its $ref names.
func (s *Schema) whole(r rule) rule {
	to, ok := r["$ref"].(string)
	if !ok {
		return r
	}
	merged := rule{}
	for _, part := range []rule{s.at(to), r} {
		for k, v := range part {
			merged[k] = v
		}
	}
	delete(merged, "$ref")
	return merged
}

// expected describes a rule's requirement, with an example.
func (s *Schema) expected(r rule) string {
	r = s.whole(r)
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
