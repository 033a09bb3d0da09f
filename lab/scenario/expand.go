package scenario

import (
	"fmt"
	"strings"
)

// Placeholders that the lab fills in when it runs the scenario.
const (
	Scratch = "scratch" // a process's own folder; see Process
	Count   = "n"       // index of the copy of a repeated text, from 0
)

// LoadPlaceholder reports whether name is a placeholder that the load fills in for each request:
// id (the offer's number), run (the run's identity), key (see Keys), row.NAME (see Feeder) and
// random:N (N random characters).
func LoadPlaceholder(name string) bool {
	switch name {
	case "id", "run", "key":
		return true
	}
	return strings.HasPrefix(name, "row.") || strings.HasPrefix(name, "random:")
}

// Expand replaces ${NAME} by lookup's value for NAME, and $$ by $. A placeholder that belongs to
// the load stays as it is, and so does a $$ before one, because the load's template parses them
// next. An error names the placeholder that lookup does not know, or that has no end.
func Expand(s string, lookup func(name string) (value string, ok bool)) (string, error) {
	tokens, err := split(s)
	if err != nil {
		return "", err
	}
	var out strings.Builder
	for i, t := range tokens {
		value, known := t.text, true
		switch {
		case t.text == "$$" && !beforeLoadPlaceholder(tokens[i+1:]):
			value = "$"
		case t.name != "" && !LoadPlaceholder(t.name):
			value, known = lookup(t.name)
		}
		if !known {
			return "", fmt.Errorf("unknown placeholder ${%s}", clip(t.name))
		}
		out.WriteString(value)
	}
	return out.String(), nil
}

// beforeLoadPlaceholder reports whether the text that follows a $$ looks like a load placeholder's
// name in braces.
func beforeLoadPlaceholder(next []token) bool {
	if len(next) == 0 || !strings.HasPrefix(next[0].text, "{") {
		return false
	}
	name, _, ok := strings.Cut(next[0].text[1:], "}")
	return ok && LoadPlaceholder(name)
}

// token is a piece of text, a $$, or a placeholder.
type token struct {
	text string // as written
	name string // of a placeholder, else empty
}

// split cuts a text into its tokens. A $ before any character but $ and { is plain text.
func split(s string) ([]token, error) {
	var out []token
	for from := 0; s != ""; {
		i := strings.IndexByte(s[from:], '$')
		if i < 0 || from+i == len(s)-1 {
			return append(out, token{text: s}), nil
		}
		i += from
		if s[i+1] != '$' && s[i+1] != '{' {
			from = i + 1
			continue
		}
		if i > 0 {
			out = append(out, token{text: s[:i]})
		}
		s, from = s[i:], 0
		t := token{text: s[:2]}
		if s[1] == '{' {
			end := strings.IndexByte(s, '}')
			if end < 0 {
				return nil, fmt.Errorf("%q opens a placeholder without an end; write $$ for a plain $", clip(s))
			}
			t = token{text: s[:end+1], name: s[2:end]}
			if t.name == "" {
				return nil, fmt.Errorf("${} names nothing; write $$ for a plain $")
			}
		}
		out, s = append(out, t), s[len(t.text):]
	}
	return out, nil
}

// clip shortens a quotation in a message.
func clip(s string) string {
	const most = 60
	if len(s) <= most {
		return s
	}
	return strings.ToValidUTF8(s[:most], "") + "..."
}
