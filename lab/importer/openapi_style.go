package importer

import (
	"cmp"
	"encoding/json"
	"fmt"
	"maps"
	"math"
	"net/url"
	"slices"
	"strconv"
	"strings"

	"github.com/getkin/kin-openapi/openapi3"
)

// writtenParameter is the way in which a value is written into a URL, a header field or a form
// (OpenAPI 3.1, 4.8.12, style values; RFC 6570).
type writtenParameter struct {
	style   string
	explode bool
	escape  func(string) string
}

// statedStyle are the style and the explode that a parameter or an encoding states, or their
// defaults.
func statedStyle(style, usual string, explode *bool) (string, bool) {
	style = cmp.Or(style, usual)
	if explode != nil {
		return style, *explode
	}
	return style, style == "form" || style == "deepObject"
}

// shape is that of a value of which flatValue returns the texts.
type shape int

const (
	single  shape = iota
	list          // a text for each member
	mapping       // of each member its name, and then its value
)

// flatValue returns the texts of a value. An array or an object within another is an error.
func flatValue(v any) (texts []string, of shape, err error) {
	add := func(v any) {
		switch v.(type) {
		case []any, map[string]any:
			err = fmt.Errorf("an array or an object within another has no form there")
		}
		texts = append(texts, plainText(v))
	}
	switch v := v.(type) {
	case []any:
		for _, x := range v {
			add(x)
		}
		return texts, list, err
	case map[string]any:
		for _, name := range slices.Sorted(maps.Keys(v)) {
			texts = append(texts, name)
			add(v[name])
		}
		return texts, mapping, err
	}
	return []string{plainText(v)}, single, nil
}

// parts writes a value: as one part, or exploded as one for each member; of an empty array or object there is none. Separator
// joins what is one part, and a part has the parameter's name if it is named.
func (w writtenParameter) parts(name string, v any, separator string, named bool) (out []string, err error) {
	texts, of, err := flatValue(v)
	if err != nil || len(texts) == 0 {
		return nil, err
	}
	for i := range texts {
		texts[i] = w.escape(texts[i])
	}
	if w.explode && of == mapping {
		for member := range slices.Chunk(texts, 2) {
			out = append(out, member[0]+"="+member[1])
		}
		return out, nil
	}
	if !w.explode {
		texts = []string{strings.Join(texts, separator)}
	}
	if named {
		for i := range texts {
			texts[i] = w.escape(name) + "=" + texts[i]
		}
	}
	return texts, nil
}

func (w writtenParameter) path(name string, v any) (string, error) {
	start, separator := "", ","
	switch w.style {
	case "simple":
	case "label":
		start, separator = ".", "."
	case "matrix":
		if start, separator = ";", ";"; v == nil || v == "" {
			return start + w.escape(name), nil
		}
	default:
		return "", fmt.Errorf("the style %s is not made in a path", w.style)
	}
	parts, err := w.parts(name, v, ",", w.style == "matrix")
	return start + strings.Join(parts, separator), err
}

// pairs writes a value of a query, a form or a cookie.
func (w writtenParameter) pairs(name string, v any) (out []string, err error) {
	texts, of, err := flatValue(v)
	separator := ","
	switch {
	case err != nil || of == single || w.style == "form":
	case w.style == "deepObject" && of == mapping:
		for member := range slices.Chunk(texts, 2) {
			out = append(out, w.escape(name+"["+member[0]+"]")+"="+w.escape(member[1]))
		}
		return out, nil
	case w.style == "deepObject":
		return nil, fmt.Errorf("the style deepObject has no form for an array")
	case w.explode:
		return nil, fmt.Errorf("the style %s has no form with explode", w.style)
	case w.style == "spaceDelimited":
		separator = "%20"
	case w.style == "pipeDelimited":
		separator = "%7C"
	default:
		return nil, fmt.Errorf("the style %s is not made there", w.style)
	}
	return w.parts(name, v, separator, true)
}

// plainText is a single value as a text.
func plainText(v any) string {
	switch v := v.(type) {
	case nil:
		return ""
	case string:
		return v
	case float64:
		return strconv.FormatFloat(v, 'f', -1, 64)
	}
	return fmt.Sprint(v)
}

// asWritten returns an error if a value has an integer that may differ from the document's: the
// document's parser rounds numbers to float64, in which only integers below 2^53 are exact.
func asWritten(v any) error {
	const least, most = 1 << 53, 1 << 64 // a number beyond 64 bits is not an identifier
	switch v := v.(type) {
	case float64:
		if size := math.Abs(v); size >= least && size <= most {
			return fmt.Errorf("its integer near %.0f has more digits than are read exactly", v)
		}
	case []any:
		for _, x := range v {
			if err := asWritten(x); err != nil {
				return err
			}
		}
	case map[string]any:
		for _, name := range slices.Sorted(maps.Keys(v)) {
			if err := asWritten(v[name]); err != nil {
				return err
			}
		}
	}
	return nil
}

// escapeStrict escapes all but unreserved characters (RFC 3986, 2.3).
func escapeStrict(s string) string { return strings.ReplaceAll(url.QueryEscape(s), "+", "%20") }

// escapeReserved escapes characters that a query cannot have; reserved characters and escapes stay
// (allowReserved).
func escapeReserved(s string) string {
	var out strings.Builder
	for i := 0; i < len(s); i++ {
		switch {
		case strings.IndexByte(":/?[]@!$&'()*+,;=", s[i]) >= 0:
			out.WriteByte(s[i])
		case s[i] == '%' && i+2 < len(s) && isHex(s[i+1]) && isHex(s[i+2]):
			out.WriteByte('%')
		default:
			out.WriteString(escapeStrict(s[i : i+1]))
		}
	}
	return out.String()
}

func isHex(c byte) bool { return c >= '0' && c <= '9' || (c|0x20) >= 'a' && (c|0x20) <= 'f' }

// cookieValue escapes characters that a cookie's value cannot have (RFC 6265, 4.1.1).
func cookieValue(s string) string {
	var out strings.Builder
	for i := 0; i < len(s); i++ {
		if c := s[i]; c <= ' ' || c >= 0x7f || strings.IndexByte(`",;\`, c) >= 0 {
			fmt.Fprintf(&out, "%%%02X", c)
		} else {
			out.WriteByte(c)
		}
	}
	return out.String()
}

// inContent writes a parameter whose form is that of a media type.
func inContent(content openapi3.Content, v any) (string, error) {
	for kind := range content {
		switch {
		case isJSON(kind):
			return compactJSON(v)
		case strings.HasPrefix(kind, "text/"):
			return plainText(v), nil
		default:
			return "", fmt.Errorf("content of type %s is not made", kind)
		}
	}
	return plainText(v), nil
}

func isJSON(kind string) bool {
	kind, _, _ = strings.Cut(kind, ";")
	kind = strings.ToLower(strings.TrimSpace(kind))
	return kind == "application/json" || kind == "*/*" || kind == "text/json" || strings.HasSuffix(kind, "+json")
}

func compactJSON(v any) (string, error) {
	var out strings.Builder
	enc := json.NewEncoder(&out)
	enc.SetEscapeHTML(false)
	if err := enc.Encode(v); err != nil {
		return "", fmt.Errorf("it has no JSON form: %w", err)
	}
	return strings.TrimSuffix(out.String(), "\n"), nil
}
