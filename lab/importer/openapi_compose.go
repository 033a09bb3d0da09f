package importer

import (
	"cmp"
	"maps"
	"path"
	"slices"

	"github.com/getkin/kin-openapi/openapi3"
)

// maxAlternatives limits the combinations of oneOf's and anyOf's members that are tried.
const maxAlternatives = 16

// alternatives resolves allOf, oneOf and anyOf: each schema that it returns joins all members of
// allOf with one member of each other list, the first members first.
func (m *sampler) alternatives(s *openapi3.Schema, depth int) []*openapi3.Schema {
	if m.left--; s == nil || depth > lastSampleDepth || m.left < leastSampleValues {
		return nil
	}
	plain := *s
	plain.AllOf, plain.OneOf, plain.AnyOf = nil, nil, nil
	out := []*openapi3.Schema{&plain}
	for _, ref := range s.AllOf {
		out = schemaProducts(out, m.of(ref, depth), nil)
	}
	for _, list := range []openapi3.SchemaRefs{s.OneOf, s.AnyOf} {
		if len(list) == 0 {
			continue
		}
		var each []*openapi3.Schema
		for _, ref := range list {
			each = append(each, schemaProducts(out, m.of(ref, depth), discriminated(s, ref))...)
			if len(each) >= maxAlternatives {
				break
			}
		}
		out = each
	}
	return out[:min(len(out), maxAlternatives)]
}

func (m *sampler) of(ref *openapi3.SchemaRef, depth int) []*openapi3.Schema {
	if ref == nil || ref.Value == nil {
		return []*openapi3.Schema{{}}
	}
	return m.alternatives(ref.Value, depth+1)
}

// schemaProducts joins each of some schemas with each of others, and all with further unless that
// is nil.
func schemaProducts(some, others []*openapi3.Schema, further *openapi3.Schema) (out []*openapi3.Schema) {
	for _, a := range some {
		for _, b := range others {
			if len(out) == maxAlternatives {
				return out
			}
			joined := joinedOf(a, b)
			if further != nil {
				joined = joinedOf(joined, further)
			}
			out = append(out, joined)
		}
	}
	return out
}

// discriminated returns the schema that requires the discriminator's value for one of the
// alternatives; nil: it requires none.
func discriminated(s *openapi3.Schema, ref *openapi3.SchemaRef) *openapi3.Schema {
	if s.Discriminator == nil || s.Discriminator.PropertyName == "" || ref == nil || ref.Ref == "" {
		return nil
	}
	name := path.Base(ref.Ref)
	for _, key := range slices.Sorted(maps.Keys(s.Discriminator.Mapping)) {
		if to := s.Discriminator.Mapping[key].Ref; to == ref.Ref || path.Base(to) == name {
			name = key
			break
		}
	}
	if ref.Value != nil {
		if p := ref.Value.Properties[s.Discriminator.PropertyName]; p != nil && p.Value != nil && (p.Value.Const != nil || len(p.Value.Enum) == 1) {
			return nil // the alternative requires its value itself
		}
	}
	property := s.Discriminator.PropertyName
	return &openapi3.Schema{Required: []string{property}, Properties: openapi3.Schemas{property: {Value: &openapi3.Schema{Enum: []any{name}}}}}
}

// joinedOf is a schema that permits, as far as one schema can say so, what both of two permit.
func joinedOf(a, b *openapi3.Schema) *openapi3.Schema {
	s := *a
	s.Type = commonTypes(a.Type, b.Type)
	s.Format = cmp.Or(a.Format, b.Format)
	s.Pattern = cmp.Or(b.Pattern, a.Pattern) // whether a value matches the other one too is checked afterwards
	switch {
	case len(a.Enum) > 0 && len(b.Enum) > 0:
		s.Enum = slices.DeleteFunc(slices.Clone(a.Enum), func(v any) bool { return !slices.ContainsFunc(b.Enum, func(w any) bool { return sameJSON(v, w) }) })
	case len(b.Enum) > 0:
		s.Enum = b.Enum
	}
	s.Const, s.Example, s.Default = cmp.Or(a.Const, b.Const), cmp.Or(a.Example, b.Example), cmp.Or(a.Default, b.Default)
	if len(s.Examples) == 0 {
		s.Examples = b.Examples
	}
	if isObject(a.Example) || isObject(b.Example) || len(a.Properties)+len(b.Properties) > 0 { // an example of a part is not one of all
		s.Example, s.Examples = nil, nil
	}
	s.Min, s.Max = tighter(a.Min, b.Min, false), tighter(a.Max, b.Max, true)
	if !s.ExclusiveMin.IsSet() {
		s.ExclusiveMin = b.ExclusiveMin
	}
	if !s.ExclusiveMax.IsSet() {
		s.ExclusiveMax = b.ExclusiveMax
	}
	s.MultipleOf = cmp.Or(a.MultipleOf, b.MultipleOf)
	s.MinLength, s.MaxLength = max(a.MinLength, b.MinLength), tighter(a.MaxLength, b.MaxLength, true)
	s.MinItems, s.MaxItems = max(a.MinItems, b.MinItems), tighter(a.MaxItems, b.MaxItems, true)
	s.MinProps, s.MaxProps = max(a.MinProps, b.MinProps), tighter(a.MaxProps, b.MaxProps, true)
	s.UniqueItems, s.ReadOnly = a.UniqueItems || b.UniqueItems, a.ReadOnly || b.ReadOnly
	s.Items = cmp.Or(a.Items, b.Items)
	if len(s.PrefixItems) == 0 {
		s.PrefixItems = b.PrefixItems
	}
	if s.Contains == nil {
		s.Contains, s.MinContains = b.Contains, b.MinContains
	}
	s.PropertyNames = cmp.Or(a.PropertyNames, b.PropertyNames)
	if s.AdditionalProperties.Has == nil && s.AdditionalProperties.Schema == nil {
		s.AdditionalProperties = b.AdditionalProperties
	}
	s.Required = slices.Compact(slices.Sorted(slices.Values(slices.Concat(a.Required, b.Required))))
	s.Properties = bothSchemas(a.Properties, b.Properties)
	s.PatternProperties = bothSchemas(a.PatternProperties, b.PatternProperties)
	return &s
}

// bothSchemas joins properties; one that is in both must suit both.
func bothSchemas(a, b openapi3.Schemas) openapi3.Schemas {
	if len(b) == 0 {
		return a
	}
	out := maps.Clone(b)
	for name, ref := range a {
		if other := b[name]; other != nil && ref != nil && other.Value != ref.Value {
			ref = &openapi3.SchemaRef{Value: &openapi3.Schema{AllOf: openapi3.SchemaRefs{ref, other}}}
		}
		out[name] = ref
	}
	return out
}

func commonTypes(a, b *openapi3.Types) *openapi3.Types {
	if a == nil || b == nil {
		return cmp.Or(a, b)
	}
	var out openapi3.Types
	for _, t := range *a {
		switch {
		case slices.Contains(*b, t):
			out = append(out, t)
		case t == "integer" && slices.Contains(*b, "number"), t == "number" && slices.Contains(*b, "integer"):
			out = append(out, "integer")
		}
	}
	if len(out) == 0 {
		return a // no value suits both: the check of the value reports it
	}
	return &out
}

func isObject(v any) bool {
	_, ok := v.(map[string]any)
	return ok
}

// tighter returns the tighter of two bounds: the lesser of upper ones.
func tighter[N cmp.Ordered](a, b *N, upper bool) *N {
	if a == nil || b != nil && (*a < *b) != upper {
		return b
	}
	return a
}
