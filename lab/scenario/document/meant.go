package document

import (
	"encoding/json"
	"math"
	"strconv"
	"strings"

	"dyno/lab/record/quantity"

	"go.yaml.in/yaml/v3"
)

// meant suggests how to write a value that breaks a rule, if its meaning is beyond doubt: "; write
// 900". Otherwise it returns an empty text.
func (s *Schema) meant(r rule, n *yaml.Node) string {
	r = s.whole(r)
	text := strings.TrimSpace(n.Value)
	if n.Kind != yaml.ScalarNode || text == "" {
		return ""
	}
	write := func(text string) string { return "; write " + text }
	switch r["type"] {
	case "number", "integer":
		if v, err := quantity.Rate(text); err == nil && (r["type"] == "number" || v == math.Trunc(v)) {
			return write(strconv.FormatFloat(v, 'f', -1, 64))
		} else if v, pointed := quantity.Rate(strings.Replace(text, ",", ".", 1)); pointed == nil && (r["type"] == "number" || v == math.Trunc(v)) && strings.Contains(quantity.Hint(err), "decimal point") {
			return write(strconv.FormatFloat(v, 'f', -1, 64))
		} else if hint := quantity.Hint(err); hint != "" {
			return ": " + hint
		}
	case "array":
		if of, _ := r["items"].(map[string]any); s.whole(of)["type"] == "string" {
			list, _ := json.Marshal(strings.Fields(text)) // strings marshal
			return write(string(list))
		}
	case "string":
		if r["format"] == "go-duration" {
			v, err := quantity.Bounded(text)
			if hint := quantity.Hint(err); hint != "" {
				return ": " + hint
			} else if err == nil && v >= 0 {
				return write(v.String())
			}
		}
		if upper := strings.ToUpper(text); upper != text && r["title"] == "an HTTP method" {
			return write(upper)
		}
	}
	return ""
}
