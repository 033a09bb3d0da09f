package scenario

import (
	"fmt"
	"strings"
)

// LoadPlaceholder reports whether name is a placeholder that the load fills in afresh for each request:
// id (the offer's number), run (the run's identity), key (see Keys), row.NAME (see Feeder) and random:N
// (N random characters).
func LoadPlaceholder(name string) bool {
	switch name {
	case "id", "run", "key":
		return true
	}
	return strings.HasPrefix(name, "row.") || strings.HasPrefix(name, "random:")
}

// Expand replaces ${NAME} by what lookup returns for NAME and $$ by $. A placeholder that belongs to the
// load stays as it is, and so does a $$ before one: the load's template reads it next. An error names
// the placeholder that lookup does not know, or that has no end.
func Expand(s string, lookup func(name string) (value string, ok bool)) (string, error) {
	var out strings.Builder
	for {
		i := strings.IndexByte(s, '$')
		if i < 0 || i == len(s)-1 {
			out.WriteString(s)
			return out.String(), nil
		}
		out.WriteString(s[:i])
		s = s[i:]
		if s[1] == '$' {
			if name, _, ok := placeholder(s[1:]); ok && LoadPlaceholder(name) {
				out.WriteString("$$")
				out.WriteString(s[2 : 1+len("${}")+len(name)])
				s = s[1+len("${}")+len(name):]
				continue
			}
			out.WriteByte('$')
			s = s[2:]
			continue
		}
		if s[1] != '{' {
			out.WriteByte('$')
			s = s[1:]
			continue
		}
		name, rest, ok := placeholder(s)
		if !ok {
			return "", fmt.Errorf("%q opens a placeholder that never ends; write $$ for a plain $", clip(s))
		}
		switch value, known := lookup(name); {
		case LoadPlaceholder(name):
			out.WriteString(s[:len(s)-len(rest)])
		case known:
			out.WriteString(value)
		default:
			return "", fmt.Errorf("nothing is known of ${%s}", clip(name))
		}
		s = rest
	}
}

// placeholder splits a text that begins with ${NAME}.
func placeholder(s string) (name, rest string, ok bool) {
	if !strings.HasPrefix(s, "${") {
		return "", s, false
	}
	name, rest, ok = strings.Cut(s[2:], "}")
	return name, rest, ok
}

// clip shortens what is quoted in a message.
func clip(s string) string {
	const most = 60
	if len(s) <= most {
		return s
	}
	return s[:most] + "..."
}
