package importer

import (
	"encoding/json"
	"net/url"
	"regexp"
	"strings"
)

// marker replaces values of earlier answers in one request.
type marker struct {
	*follower
	load *Load
	own  []string // values that no answer had
}

// value returns the mark of a value that an answer had; false: none had it. Short values are
// compared only if names is set: the value stands at a place whose name marks it as an identity.
func (m *marker) value(text string, names bool) (string, bool) {
	s, ok := m.values[text]
	if !ok || len(text) < leastText && !names {
		m.own = append(m.own, text)
		return text, false
	}
	m.passed = true
	return m.load.Keep(s.request, s.save, s.field), true
}

// header marks a value as a whole, or after the name of a scheme, as in Bearer TOKEN.
func (m *marker) header(text string) string {
	if scheme, token, ok := strings.Cut(text, " "); ok && !strings.Contains(token, " ") {
		if mark, ok := m.value(token, false); ok {
			return scheme + " " + mark
		}
	}
	mark, _ := m.value(text, false)
	return mark
}

// url marks segments of the path, and values of the query.
func (m *marker) url(text string) string {
	text, _, _ = strings.Cut(text, "#") // browsers do not send what follows
	text, query, asked := strings.Cut(text, "?")
	if scheme, rest, ok := strings.Cut(text, "://"); ok {
		segments := strings.Split(rest, "/")
		for i, segment := range segments {
			if plain, err := url.PathUnescape(segment); i > 0 && err == nil && plain != "" {
				if mark, ok := m.value(plain, true); ok {
					segments[i] = mark
				}
			}
		}
		text = scheme + "://" + strings.Join(segments, "/")
	}
	if asked {
		text += "?" + m.pairs(query)
	}
	return text
}

// pairs marks the values of a query or a form.
func (m *marker) pairs(text string) string {
	pairs := strings.Split(text, "&")
	for i, pair := range pairs {
		name, value, ok := strings.Cut(pair, "=")
		plain, err := url.QueryUnescape(value)
		if !ok || err != nil || plain == "" {
			continue
		}
		if mark, ok := m.value(plain, identifies(name)); ok {
			pairs[i] = name + "=" + mark
		}
	}
	return strings.Join(pairs, "&")
}

// jsonToken is a string or a number of JSON, and the colon after it if the string is a name.
var jsonToken = regexp.MustCompile(`("(?:[^"\\]|\\.)*")(\s*:)?|-?[0-9][0-9.eE+-]*`)

// json marks strings and numbers of a JSON body; the rest stays as it is.
func (m *marker) json(body string) string {
	if !json.Valid([]byte(body)) {
		return body
	}
	field := ""
	return jsonToken.ReplaceAllStringFunc(body, func(found string) string {
		if name, ok := strings.CutSuffix(found, ":"); ok {
			field = plainValue(strings.TrimSpace(name))
			return found
		}
		mark, ok := m.value(plainValue(found), identifies(field))
		switch {
		case !ok:
			return found
		case found[0] == '"':
			return `"` + mark + `"`
		}
		return mark
	})
}

// plainValue is a JSON string without its quotes and escapes; a number stays as it is.
func plainValue(found string) string {
	var text string
	if json.Unmarshal([]byte(found), &text) != nil {
		return found
	}
	return text
}
