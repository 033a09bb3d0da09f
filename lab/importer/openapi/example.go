package openapi

import (
	"encoding/json"
	"fmt"
	"maps"
	"net/url"
	"slices"
	"strconv"
	"strings"

	"dyno/lab/importer/foreign"

	"github.com/getkin/kin-openapi/openapi3"
)

// maxDepth bounds the nesting of made-up values, and maxValues their number.
const (
	maxDepth  = 6
	maxValues = 1000
)

// text returns a parameter's value, and whether it is made up.
func text(p *openapi3.Parameter) (value string, made bool) {
	if v, ok := example(p.Example, p.Examples); ok {
		return plain(v), false
	}
	if p.Schema == nil {
		return "1", true
	}
	m := maker{left: maxValues}
	v := m.value(p.Schema, 0)
	return plain(v), m.made
}

// plain is a value as it stands in a URL or a header field.
func plain(v any) string {
	switch v := v.(type) {
	case nil:
		return ""
	case string:
		return v
	case float64:
		return strconv.FormatFloat(v, 'f', -1, 64)
	case []any:
		var out []string
		for _, x := range v {
			out = append(out, plain(x))
		}
		return strings.Join(out, ",")
	case map[string]any:
		b, err := json.Marshal(v)
		if err != nil {
			return ""
		}
		return string(b)
	}
	return fmt.Sprint(v)
}

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

// body sets the request's body; it returns why it cannot.
func (r *reader) body(request *foreign.Request, op *openapi3.Operation) (wrong string) {
	if op.RequestBody == nil || op.RequestBody.Value == nil || len(op.RequestBody.Value.Content) == 0 {
		return ""
	}
	content := op.RequestBody.Value.Content
	kinds := slices.Sorted(maps.Keys(content))
	kind := func(ok func(string) bool) string {
		if i := slices.IndexFunc(kinds, ok); i >= 0 {
			return kinds[i]
		}
		return ""
	}
	if k := kind(func(k string) bool { return strings.Contains(k, "json") || k == "*/*" }); k != "" && content[k] != nil {
		b, err := json.Marshal(r.media(content[k]))
		if err != nil {
			return "its example has no JSON form"
		}
		if k == "*/*" {
			k = "application/json"
		}
		request.Body = string(b)
		request.Default("Content-Type", k)
		return ""
	}
	const form = "application/x-www-form-urlencoded"
	if m := content[form]; m != nil {
		fields, _ := r.media(m).(map[string]any)
		values := url.Values{}
		for name, v := range fields {
			values.Set(name, plain(v))
		}
		request.Body = values.Encode()
		request.Default("Content-Type", form)
		return ""
	}
	if k := kind(func(k string) bool { return strings.HasPrefix(k, "text/") || strings.Contains(k, "xml") }); k != "" && content[k] != nil {
		if s, ok := r.media(content[k]).(string); ok {
			request.Body = s
			request.Default("Content-Type", k)
			return ""
		}
	}
	if !op.RequestBody.Value.Required {
		return ""
	}
	return "bodies of type " + strings.Join(kinds, ", ") + " are not made"
}

func (r *reader) media(m *openapi3.MediaType) any {
	if v, ok := example(m.Example, m.Examples); ok {
		return v
	}
	if m.Schema == nil {
		return map[string]any{}
	}
	values := maker{left: maxValues}
	return values.value(m.Schema, 0)
}

// maker makes values by schema.
type maker struct {
	made  bool               // a value has no example
	left  int                // number of values that it may still make
	stack []*openapi3.Schema // those whose values are being made
}

func (m *maker) value(ref *openapi3.SchemaRef, depth int) any {
	if ref == nil || ref.Value == nil || depth > maxDepth || m.left <= 0 || slices.Contains(m.stack, ref.Value) {
		return nil
	}
	m.left--
	s := ref.Value
	m.stack = append(m.stack, s)
	defer func() { m.stack = m.stack[:len(m.stack)-1] }()
	switch {
	case s.Example != nil:
		return s.Example
	case s.Default != nil:
		return s.Default
	case len(s.Enum) > 0:
		return s.Enum[0]
	case len(s.Examples) > 0:
		return s.Examples[0]
	case s.Const != nil:
		return s.Const
	}
	if len(s.OneOf) > 0 {
		return m.value(s.OneOf[0], depth+1)
	}
	if len(s.AnyOf) > 0 {
		return m.value(s.AnyOf[0], depth+1)
	}
	switch {
	case s.Type.Includes("object"), len(s.Properties) > 0, len(s.AllOf) > 0:
		return m.object(s, depth)
	case s.Type.Includes("array"):
		if v := m.value(s.Items, depth+1); v != nil {
			return []any{v}
		}
		return []any{}
	}
	m.made = true
	return single(s)
}

// object makes an object with all properties that a request may have.
func (m *maker) object(s *openapi3.Schema, depth int) any {
	out := map[string]any{}
	for _, part := range s.AllOf {
		v := m.value(part, depth+1)
		fields, ok := v.(map[string]any)
		if !ok && len(s.Properties) == 0 && v != nil {
			return v // all of a plain value
		}
		maps.Copy(out, fields)
	}
	for _, name := range slices.Sorted(maps.Keys(s.Properties)) {
		p := s.Properties[name]
		if p == nil || p.Value == nil || p.Value.ReadOnly {
			continue
		}
		if v := m.value(p, depth+1); v != nil || slices.Contains(s.Required, name) {
			out[name] = v
		}
	}
	return out
}

// formats has a value for each format of texts.
var formats = map[string]string{
	"date": "2026-01-31", "date-time": "2026-01-31T12:00:00Z", "email": "user@example.com", "uuid": "6ba7b810-9dad-41d1-80b4-00c04fd430c8",
	"uri": "http://example.com/", "hostname": "example.com", "ipv4": "192.0.2.1", "ipv6": "2001:db8::1", "byte": "ZHlubw==", "password": foreign.Replace,
}

// single makes a value that is neither object nor array.
func single(s *openapi3.Schema) any {
	switch {
	case s.Type.Includes("boolean"):
		return true
	case s.Type.Includes("integer"), s.Type.Includes("number"):
		if s.Min != nil {
			return *s.Min
		}
		return float64(1)
	case formats[s.Format] != "":
		return formats[s.Format]
	}
	text := "text"
	const most = 1000
	for n := min(s.MinLength, most); uint64(len(text)) < n; {
		text += "x"
	}
	if s.MaxLength != nil && uint64(len(text)) > *s.MaxLength {
		text = text[:*s.MaxLength]
	}
	return text
}
