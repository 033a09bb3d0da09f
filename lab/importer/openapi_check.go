package importer

import (
	"encoding/json"
	"fmt"
	"math/big"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/getkin/kin-openapi/openapi3"
)

// permits returns the reason why a schema does not permit a value; empty: it does. It checks the
// keywords of JSON Schema that OpenAPI 3.0 and 3.1 have, but no formats.
func permits(s *openapi3.Schema, v any) (why string) {
	const most = 100_000 // schemas that are checked at most: they may contain one another
	c := schemaCheck{left: most}
	return c.permits(s, v, 0)
}

// schemaCheck is the check of one value; left is the number of schemas that it may still look at.
type schemaCheck struct{ left int }

func (c *schemaCheck) permits(s *openapi3.Schema, v any, depth int) (why string) {
	if c.left--; s == nil || c.left < 0 || depth > 4*lastSampleDepth {
		return ""
	}
	if s.Always != nil && !*s.Always {
		return "its schema permits nothing"
	}
	if v == nil && s.Nullable {
		return ""
	}
	kind := jsonType(v)
	if s.Type != nil && len(*s.Type) > 0 && !slices.ContainsFunc(*s.Type, func(t string) bool { return t == kind || t == "number" && kind == "integer" }) {
		return "it is of type " + kind + ", not " + strings.Join(*s.Type, " or ")
	}
	if len(s.Enum) > 0 && !slices.ContainsFunc(s.Enum, func(e any) bool { return sameJSON(e, v) }) || s.Const != nil && !sameJSON(s.Const, v) {
		return "it is none of the values that are listed"
	}
	switch v := v.(type) {
	case string:
		why = permitsText(s, v)
	case []any:
		why = c.permitsArray(s, v, depth)
	case map[string]any:
		why = c.permitsObject(s, v, depth)
	default:
		if n := rational(v); n != nil {
			b := boundsOf(s, false)
			if !b.permits(n) {
				why = "it is out of its bounds"
			}
		}
	}
	if why != "" {
		return why
	}
	return c.permitsComposed(s, v, depth)
}

func jsonType(v any) string {
	switch v.(type) {
	case nil:
		return "null"
	case string:
		return "string"
	case bool:
		return "boolean"
	case []any:
		return "array"
	case map[string]any:
		return "object"
	}
	if n := rational(v); n != nil && n.IsInt() {
		return "integer"
	}
	return "number"
}

// rational is the exact value of a number; nil: v is not a number, or is too long.
func rational(v any) *big.Rat {
	text := ""
	switch v := v.(type) {
	case json.Number:
		text = string(v)
	case float64, float32, int, int64, uint64:
		text = fmt.Sprint(v)
	default:
		return nil
	}
	const longest = 100 // a large exponent would take much memory
	if i := strings.IndexAny(text, "eE"); len(text) > longest || i >= 0 && len(text)-i > 4 {
		return nil
	}
	n, ok := new(big.Rat).SetString(text)
	if !ok {
		return nil
	}
	return n
}

// sameJSON reports whether two values are equal in JSON.
func sameJSON(a, b any) bool {
	if x, y := rational(a), rational(b); x != nil && y != nil {
		return x.Cmp(y) == 0
	}
	x, errX := json.Marshal(a)
	y, errY := json.Marshal(b)
	return errX == nil && errY == nil && string(x) == string(y)
}

func permitsText(s *openapi3.Schema, v string) string {
	n := uint64(utf8.RuneCountInString(v))
	if n < s.MinLength || s.MaxLength != nil && n > *s.MaxLength {
		return fmt.Sprintf("its length is %d", n)
	}
	if ok, err := matchesPattern(s.Pattern, v); err == nil && !ok { // a pattern that Go cannot read is left to the service
		return fmt.Sprintf("it does not match %q", shortened(s.Pattern))
	}
	return ""
}

func (c *schemaCheck) permitsArray(s *openapi3.Schema, v []any, depth int) string {
	n := uint64(len(v))
	if n < s.MinItems || s.MaxItems != nil && n > *s.MaxItems {
		return fmt.Sprintf("it has %d members", n)
	}
	found := uint64(0)
	for i, x := range v {
		if s.UniqueItems && slices.ContainsFunc(v[:i], func(y any) bool { return sameJSON(x, y) }) {
			return "two of its members are equal"
		}
		item := s.Items
		if i < len(s.PrefixItems) {
			item = s.PrefixItems[i]
		}
		if why := c.permitsRef(item, x, depth); why != "" {
			return why
		}
		if s.Contains != nil && c.permitsRef(s.Contains, x, depth) == "" {
			found++
		}
	}
	least := uint64(1)
	if s.MinContains != nil {
		least = *s.MinContains
	}
	if s.Contains != nil && (found < least || s.MaxContains != nil && found > *s.MaxContains) {
		return "it lacks a member that it must contain"
	}
	return ""
}

func (c *schemaCheck) permitsObject(s *openapi3.Schema, v map[string]any, depth int) string {
	n := uint64(len(v))
	if n < s.MinProps || s.MaxProps != nil && n > *s.MaxProps {
		return fmt.Sprintf("it has %d properties", n)
	}
	for _, name := range s.Required {
		p := s.Properties[name]
		if _, ok := v[name]; !ok && (p == nil || p.Value == nil || !p.Value.ReadOnly) {
			return "it lacks " + name
		}
	}
	for name, needs := range s.DependentRequired {
		for _, need := range needs {
			if _, ok := v[name]; ok && v[need] == nil {
				return "it lacks " + need
			}
		}
	}
	for name, x := range v {
		known := false
		if p := s.Properties[name]; p != nil {
			known = true
			if why := c.permitsRef(p, x, depth); why != "" {
				return name + ": " + why
			}
		}
		for pattern, p := range s.PatternProperties {
			if ok, err := matchesPattern(pattern, name); ok && err == nil {
				known = true
				if why := c.permitsRef(p, x, depth); why != "" {
					return name + ": " + why
				}
			}
		}
		if more := s.AdditionalProperties; !known && more.Has != nil && !*more.Has {
			return "it must not have " + name
		} else if !known {
			if why := c.permitsRef(more.Schema, x, depth); why != "" {
				return name + ": " + why
			}
		}
		if why := c.permitsRef(s.PropertyNames, name, depth); why != "" {
			return "the name " + name + ": " + why
		}
	}
	return ""
}

func (c *schemaCheck) permitsRef(ref *openapi3.SchemaRef, v any, depth int) string {
	if ref == nil {
		return ""
	}
	return c.permits(ref.Value, v, depth+1)
}

func (c *schemaCheck) permitsComposed(s *openapi3.Schema, v any, depth int) string {
	for _, ref := range s.AllOf {
		if why := c.permitsRef(ref, v, depth); why != "" {
			return why
		}
	}
	count := func(refs openapi3.SchemaRefs) (n int, why string) {
		for _, ref := range refs {
			if w := c.permitsRef(ref, v, depth); w == "" {
				n++
			} else if why == "" {
				why = w
			}
		}
		return n, why
	}
	if n, why := count(s.AnyOf); len(s.AnyOf) > 0 && n == 0 {
		return why
	}
	switch n, why := count(s.OneOf); {
	case len(s.OneOf) == 0 || n == 1:
	case n == 0:
		return why
	case s.Discriminator == nil:
		return "it suits several schemas of oneOf"
	}
	if s.Not != nil && c.permitsRef(s.Not, v, depth) == "" {
		return "it is what its schema excludes"
	}
	if s.If != nil {
		branch := s.Else
		if c.permitsRef(s.If, v, depth) == "" {
			branch = s.Then
		}
		return c.permitsRef(branch, v, depth)
	}
	return ""
}
