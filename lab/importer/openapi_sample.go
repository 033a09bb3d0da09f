package importer

import (
	"cmp"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/getkin/kin-openapi/openapi3"
)

// Limits of made-up values.
const (
	maxSampleDepth    = 6    // from this depth on, only required values are made
	lastSampleDepth   = 24   // beyond this depth, none are
	maxSampleValues   = 1000 // of a request: beyond it, only required values are made
	maxSampleItems    = 1000 // of an array
	leastSampleValues = -10 * maxSampleValues
)

// gaps are the names of values that the document does not have.
type gaps struct {
	made    []string // made up
	without []string // optional, and left out, since none was found
}

// sampler makes the values of a request from its schemas.
type sampler struct {
	gaps
	left  int                // number of values that it may still make
	stack []*openapi3.Schema // those whose values are being made
	nth   int                // number of the value among those of its schema, in an array whose items must differ
	lean  bool               // only required values are made
}

func newSampler() *sampler { return &sampler{left: maxSampleValues} }

func cannotMake(at, what string, args ...any) error {
	return fmt.Errorf("no value was found for %s: %s", cmp.Or(at, "it"), fmt.Sprintf(what, args...))
}

// value returns a value of a schema: the document's, or else one that is made up and that the
// schema permits.
func (m *sampler) value(ref *openapi3.SchemaRef, at string, depth int) (any, error) {
	if ref == nil || ref.Value == nil {
		m.note(at)
		return "text", nil // anything is permitted
	}
	s := ref.Value
	switch {
	case slices.Contains(m.stack, s):
		return nil, cannotMake(at, "its schema contains itself")
	case depth > lastSampleDepth || m.left < leastSampleValues:
		return nil, cannotMake(at, "its schema is too deep")
	}
	m.left--
	m.stack = append(m.stack, s)
	defer func() { m.stack = m.stack[:len(m.stack)-1] }()
	if v, ok := m.given(s); ok {
		return v, nil
	}
	nth, lean := m.nth, m.lean
	defer func() { m.nth, m.lean = nth, lean }()
	whole := m.alternatives(s, 0)
	v, err := m.oneOf(s, whole, at, depth)
	if composed := len(s.OneOf)+len(s.AnyOf)+len(s.AllOf) > 0 || s.Not != nil || s.If != nil; err != nil && composed {
		m.lean = true // fewer properties suit fewer schemas
		if v, again := m.oneOf(s, whole, at, depth); again == nil {
			return v, nil
		}
		m.nth++ // another value may not be excluded
		if v, again := m.oneOf(s, whole, at, depth); again == nil {
			return v, nil
		}
	}
	return v, err
}

// oneOf returns a value that s permits, made from the first of its alternatives for which one is
// found.
func (m *sampler) oneOf(s *openapi3.Schema, whole []*openapi3.Schema, at string, depth int) (any, error) {
	var first error
	for _, each := range whole {
		noted := m.gaps
		v, err := m.make(each, at, depth)
		if err == nil {
			why := permits(s, v)
			if why == "" {
				return v, nil
			}
			err = cannotMake(at, "%s", why)
		}
		m.gaps, first = noted, cmp.Or(first, err)
	}
	return nil, cmp.Or(first, cannotMake(at, "its schema permits none"))
}

// given returns the document's value if the schema permits it: a constant, an example, a default
// or one of a list.
func (m *sampler) given(s *openapi3.Schema) (any, bool) {
	if s.Const != nil {
		return s.Const, true
	}
	var tries []any
	if s.Example != nil {
		tries = append(tries, sendable(s, s.Example))
	}
	for _, v := range s.Examples {
		tries = append(tries, sendable(s, v))
	}
	if s.Default != nil {
		tries = append(tries, s.Default)
	}
	listed := slices.DeleteFunc(slices.Clone(s.Enum), func(v any) bool { return v == nil })
	if m.nth > 0 {
		tries = tries[min(m.nth, len(tries)):] // another value than before
	}
	if n := len(listed); n > 0 {
		tries = append(tries, listed[m.nth%n:]...)
		tries = append(tries, listed...)
	}
	for _, v := range tries {
		if permits(s, v) == "" {
			return v, true
		}
	}
	return nil, len(s.Enum) > 0 && len(listed) == 0
}

// sendable is an example without the fields that only an answer has (readOnly).
func sendable(s *openapi3.Schema, v any) any {
	object, ok := v.(map[string]any)
	if !ok {
		return v
	}
	object = maps.Clone(object)
	for name, p := range s.Properties {
		if p != nil && p.Value != nil && p.Value.ReadOnly {
			delete(object, name)
		}
	}
	return object
}

// note records a value that is made up.
func (m *sampler) note(at string) { m.made = append(m.made, cmp.Or(at, "the value")) }

// make makes a value of a schema that is not composed of others.
func (m *sampler) make(s *openapi3.Schema, at string, depth int) (any, error) {
	if v, ok := m.given(s); ok {
		return v, nil
	}
	switch kind := schemaKind(s); kind {
	case "object":
		return m.object(s, at, depth)
	case "array":
		return m.array(s, at, depth)
	case "null":
		return nil, nil
	case "boolean":
		m.note(at)
		return m.nth%2 == 0, nil
	case "integer", "number":
		m.note(at)
		n, why := numberOf(s, kind == "integer", m.nth)
		if why != "" {
			return nil, cannotMake(at, "%s", why)
		}
		return json.Number(n), nil
	}
	m.note(at)
	text, why := sampleText(s, m.nth)
	if why != "" {
		return nil, cannotMake(at, "%s", why)
	}
	return text, nil
}

// schemaKind returns a type of JSON that the schema permits, by its keywords if it names none.
func schemaKind(s *openapi3.Schema) string {
	if s.Type != nil {
		for _, t := range *s.Type {
			if t != "null" || len(*s.Type) == 1 {
				return t
			}
		}
	}
	switch {
	case len(s.Properties) > 0 || len(s.Required) > 0 || s.MinProps > 0 || s.AdditionalProperties.Schema != nil || len(s.PatternProperties) > 0:
		return "object"
	case s.Items != nil || len(s.PrefixItems) > 0 || s.MinItems > 0 || s.Contains != nil:
		return "array"
	case s.Min != nil || s.Max != nil || s.MultipleOf != nil || s.ExclusiveMin.Value != nil || s.ExclusiveMax.Value != nil:
		return "number"
	}
	return "string"
}

// object makes an object with all properties that a request may have.
func (m *sampler) object(s *openapi3.Schema, at string, depth int) (any, error) {
	out := map[string]any{}
	names := slices.SortedFunc(maps.Keys(s.Properties), func(a, b string) int { // the required ones first
		if need := slices.Contains(s.Required, a); need != slices.Contains(s.Required, b) {
			return map[bool]int{true: -1, false: 1}[need]
		}
		return cmp.Compare(a, b)
	})
	for _, n := range s.Required {
		if _, ok := s.Properties[n]; !ok {
			names = append(names, n)
		}
	}
	nth := m.nth
	for _, name := range names {
		p, required := s.Properties[name], slices.Contains(s.Required, name)
		if p == nil {
			p = furtherSchema(s, name)
		}
		readOnly := p != nil && p.Value != nil && p.Value.ReadOnly
		if readOnly || !required && (m.lean || depth >= maxSampleDepth || m.left <= 0 || s.MaxProps != nil && uint64(len(out)) >= *s.MaxProps) {
			continue
		}
		noted, inside := m.gaps, strings.TrimPrefix(at+"."+name, ".")
		v, err := m.value(p, inside, depth+1)
		switch {
		case err == nil:
			out[name] = v
			m.nth = 0 // one different value makes the object different
		case required:
			return nil, err
		default:
			m.gaps = noted
			m.without = append(m.without, inside)
		}
	}
	m.nth = nth
	for n := 0; uint64(len(out)) < s.MinProps; n++ {
		name := "key" + strconv.Itoa(n+1)
		if p := s.PropertyNames; p != nil && p.Value != nil {
			var why string
			if name, why = sampleText(p.Value, n); why != "" {
				return nil, cannotMake(at, "the name of a property: %s", why)
			}
		} else if len(s.PatternProperties) > 0 {
			name, _ = sampleText(&openapi3.Schema{Pattern: slices.Sorted(maps.Keys(s.PatternProperties))[0]}, n)
		}
		if n > maxSampleItems || name == "" {
			return nil, cannotMake(at, "it needs %d properties", s.MinProps)
		}
		v, err := m.value(furtherSchema(s, name), strings.TrimPrefix(at+"."+name, "."), depth+1)
		if err != nil {
			return nil, err
		}
		out[name] = v
	}
	return out, nil
}

// furtherSchema is the schema for a property that an object's schema does not list; nil: anything
// is permitted.
func furtherSchema(s *openapi3.Schema, name string) *openapi3.SchemaRef {
	for _, pattern := range slices.Sorted(maps.Keys(s.PatternProperties)) {
		if ok, err := matchesPattern(pattern, name); ok && err == nil {
			return s.PatternProperties[pattern]
		}
	}
	return s.AdditionalProperties.Schema
}

// array makes an array of one member, or of as many as it must have.
func (m *sampler) array(s *openapi3.Schema, at string, depth int) (any, error) {
	out := []any{}
	least, most := max(s.MinItems, uint64(len(s.PrefixItems))), uint64(maxSampleItems)
	if s.MaxItems != nil {
		most = min(most, *s.MaxItems)
	}
	if s.Contains != nil {
		least = max(least, 1)
		if s.MinContains != nil {
			least = max(least, *s.MinContains)
		}
	}
	if s.MinItems > most || s.MinItems > maxSampleItems {
		return nil, cannotMake(at, "it needs %d members", s.MinItems)
	}
	nth := m.nth
	defer func() { m.nth = nth }()
	noted := len(m.made)
	for n := uint64(0); n < min(max(least, 1), most); n++ {
		item := s.Items
		if s.Contains != nil && n >= uint64(len(s.PrefixItems)) {
			item = s.Contains
		}
		if n < uint64(len(s.PrefixItems)) {
			item = s.PrefixItems[n]
		} else if item == nil && n >= s.MinItems {
			break // no schema and no further member required
		}
		if s.UniqueItems {
			m.nth = nth + int(n)
		}
		v, err := m.value(item, at, depth+1)
		if err != nil && n >= least {
			m.without = append(m.without, "the members of "+cmp.Or(at, "it"))
			break
		}
		if err != nil {
			return nil, err
		}
		out = append(out, v)
		if m.made = m.made[:min(len(m.made), noted+1)]; depth >= maxSampleDepth && n+1 >= least {
			break
		}
	}
	return out, nil
}

// formatSamples has a value for each format of texts.
var formatSamples = map[string]string{
	"date": "2026-01-31", "date-time": "2026-01-31T12:00:00Z", "time": "12:00:00Z", "duration": "PT1H", "email": "user@example.com", "idn-email": "user@example.com",
	"uuid": "6ba7b810-9dad-41d1-80b4-00c04fd430c8", "uri": "http://example.com/", "url": "http://example.com/", "iri": "http://example.com/", "uri-reference": "/item",
	"iri-reference": "/item", "uri-template": "/item", "hostname": "example.com", "idn-hostname": "example.com", "ipv4": "192.0.2.1", "ipv6": "2001:db8::1",
	"byte": "ZHlubw==", "base64": "ZHlubw==", "password": replaceMe, "json-pointer": "/item", "relative-json-pointer": "0", "regex": "a",
	"int32": "1", "int64": "1", "decimal": "1", "float": "1", "double": "1",
}
