package importer

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"net/url"
	"slices"
	"strings"

	"github.com/getkin/kin-openapi/openapi3"
)

// example returns the example, or the first of the examples by name.
func example(one any, several openapi3.Examples) (any, bool) {
	if one != nil {
		return one, true
	}
	for _, name := range slices.Sorted(maps.Keys(several)) {
		if ref := several[name]; ref != nil && ref.Value != nil && ref.Value.Value != nil {
			return ref.Value.Value, true
		}
	}
	return nil, false
}

// bodyWriters are the kinds of bodies that can be made, in order of preference.
var bodyWriters = []struct {
	is    func(kind string) bool
	write func(kind string, m *openapi3.MediaType) (body string, lacks gaps, err error)
}{
	{isJSON, jsonBody},
	{func(kind string) bool { return strings.HasPrefix(kind, "application/x-www-form-urlencoded") }, formBody},
	{func(kind string) bool { return strings.HasPrefix(kind, "text/") || strings.Contains(kind, "xml") }, textBody},
}

// body sets the request's body, and returns the names of its values that the document does not
// have.
func (r *openapiReader) body(request *Request, op *openapi3.Operation) (lacks gaps, err error) {
	if op.RequestBody == nil || op.RequestBody.Value == nil || len(op.RequestBody.Value.Content) == 0 {
		return lacks, nil
	}
	content := op.RequestBody.Value.Content
	kinds := slices.Sorted(maps.Keys(content))
	for _, w := range bodyWriters {
		for _, kind := range kinds {
			if !w.is(kind) || content[kind] == nil {
				continue
			}
			body, lacks, wrong := w.write(kind, content[kind])
			if wrong != nil {
				err = cmp.Or(err, wrong)
				continue
			}
			if strings.Contains(kind, "*") {
				kind = "application/json"
			}
			request.Body = body
			request.Default("Content-Type", kind)
			return lacks, nil
		}
	}
	if err != nil {
		return lacks, err
	}
	return lacks, fmt.Errorf("bodies of type %s are not made", strings.Join(kinds, ", "))
}

// mediaExample returns the value of a body: the document's example, or one made up from the
// schema.
func mediaExample(m *openapi3.MediaType) (v any, lacks gaps, err error) {
	if v, ok := example(m.Example, m.Examples); ok {
		return v, lacks, asWritten(v)
	}
	if m.Schema == nil {
		return map[string]any{}, gaps{made: []string{"all"}}, nil
	}
	values := newSampler()
	v, err = values.value(m.Schema, "", 0)
	return v, values.gaps, cmp.Or(err, asWritten(v))
}

func jsonBody(_ string, m *openapi3.MediaType) (body string, lacks gaps, err error) {
	v, lacks, err := mediaExample(m)
	if err != nil {
		return "", gaps{}, err
	}
	if s, ok := v.(string); ok && json.Valid([]byte(s)) && m.Schema != nil && m.Schema.Value != nil && permits(m.Schema.Value, v) != "" {
		return s, gaps{}, nil // an example in JSON already
	}
	body, err = compactJSON(v)
	return body, lacks, err
}

func textBody(kind string, m *openapi3.MediaType) (body string, lacks gaps, err error) {
	if m.Schema == nil {
		m = &openapi3.MediaType{Example: m.Example, Examples: m.Examples, Schema: openapi3.NewSchemaRef("", openapi3.NewStringSchema())}
	}
	v, lacks, err := mediaExample(m)
	switch v.(type) {
	case map[string]any, []any:
		return "", gaps{}, fmt.Errorf("bodies of type %s are made only of examples that are texts", kind)
	}
	if len(lacks.made) > 0 && strings.Contains(kind, "xml") {
		return "", gaps{}, fmt.Errorf("bodies of type %s are made only of examples that are texts", kind)
	}
	return plainText(v), lacks, err
}

// formBody writes an object as a form, by the encoding of each property (OpenAPI 3.1, 4.8.15).
func formBody(_ string, m *openapi3.MediaType) (body string, lacks gaps, err error) {
	v, lacks, err := mediaExample(m)
	if err != nil {
		return "", gaps{}, err
	}
	if s, ok := v.(string); ok && len(lacks.made) == 0 {
		return s, gaps{}, nil // an example that is a form already
	}
	object, ok := v.(map[string]any)
	if !ok {
		return "", gaps{}, errors.New("its form is no object")
	}
	var out []string
	for _, name := range slices.Sorted(maps.Keys(object)) {
		pairs, err := formPairs(m.Encoding[name], name, object[name])
		if err != nil && slices.Contains(lacks.made, name) && !isRequired(m.Schema, name) {
			lacks.without = append(lacks.without, name)
			continue // it was made up, and need not be sent
		}
		if err != nil {
			return "", gaps{}, fmt.Errorf("the field %s: %w", name, err)
		}
		out = append(out, pairs...)
	}
	return strings.Join(out, "&"), lacks, nil
}

func isRequired(ref *openapi3.SchemaRef, name string) bool {
	return ref != nil && ref.Value != nil && slices.Contains(ref.Value.Required, name)
}

// formPairs writes one property. Without a style an array has a pair for each member, and an object
// is JSON.
func formPairs(e *openapi3.Encoding, name string, v any) (out []string, err error) {
	if e != nil && (e.Style != "" || e.Explode != nil || e.AllowReserved) {
		w := writtenParameter{escape: escapeStrict}
		if w.style, w.explode = statedStyle(e.Style, "form", e.Explode); e.AllowReserved {
			w.escape = escapeReserved
		}
		return w.pairs(name, v)
	}
	members, several := v.([]any)
	if !several || e != nil && isJSON(e.ContentType) {
		members = []any{v}
	}
	for _, x := range members {
		value := plainText(x)
		switch x.(type) {
		case map[string]any, []any:
			if e != nil && e.ContentType != "" && !isJSON(e.ContentType) {
				return nil, fmt.Errorf("content of type %s is not made", e.ContentType)
			}
			if value, err = compactJSON(x); err != nil {
				return nil, err
			}
		default:
			if e != nil && isJSON(e.ContentType) {
				if value, err = compactJSON(x); err != nil {
					return nil, err
				}
			}
		}
		out = append(out, url.QueryEscape(name)+"="+url.QueryEscape(value))
	}
	return out, nil
}
