package foreign

import (
	"bytes"
	"encoding/json"
	"net/url"
	"strconv"
	"strings"
)

// Object is an object of a script, in its order. Values are nil, string, float64, bool, []any and
// Object.
type Object []Member

// Member is a field of an object.
type Member struct {
	Name  string
	Value any
}

// MarshalJSON writes the fields in their order.
func (o Object) MarshalJSON() ([]byte, error) {
	var out bytes.Buffer
	out.WriteByte('{')
	for i, m := range o {
		if i > 0 {
			out.WriteByte(',')
		}
		out.WriteString(JSON(m.Name) + ":" + JSON(m.Value))
	}
	out.WriteByte('}')
	return out.Bytes(), nil
}

// JSON is a value's JSON form.
func JSON(v any) string {
	var out bytes.Buffer
	enc := json.NewEncoder(&out)
	enc.SetEscapeHTML(false)
	if enc.Encode(v) != nil {
		return "null" // all values of a script have a JSON form, except infinite numbers
	}
	return strings.TrimSuffix(out.String(), "\n")
}

// Text is a value as a text: a text as it is, everything else as JSON.
func Text(v any) string {
	switch v := v.(type) {
	case string:
		return v
	case float64:
		return strconv.FormatFloat(v, 'f', -1, 64)
	}
	return JSON(v)
}

// Form is an object as a form; a field that is an array occurs several times.
func Form(v any) string {
	o, _ := v.(Object)
	var out []string
	for _, m := range o {
		values, several := m.Value.([]any)
		if !several {
			values = []any{m.Value}
		}
		for _, v := range values {
			out = append(out, url.QueryEscape(m.Name)+"="+url.QueryEscape(Text(v)))
		}
	}
	return strings.Join(out, "&")
}

// Size is about the length of a value's text; it stops counting at the limit.
func Size(v any, limit int) int {
	n := 1
	switch v := v.(type) {
	case string:
		n += len(v)
	case []any:
		for i := 0; i < len(v) && n < limit; i++ {
			n += Size(v[i], limit-n)
		}
	case Object:
		for i := 0; i < len(v) && n < limit; i++ {
			n += len(v[i].Name) + Size(v[i].Value, limit-n)
		}
	}
	return n
}
