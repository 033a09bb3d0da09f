package workload

import (
	"fmt"
	"strings"
)

// Placeholders that the lab fills in when it runs the scenario.
const (
	Scratch = "scratch" // a process's own folder; see scenario.Process
	Count   = "n"       // index of the copy of a repeated text, from 0
)

// LoadPlaceholder reports whether name is a placeholder that the load fills in for each request:
// id (the request's number), run (the run's identity), key (see Keys), row.NAME (see Feeder) and
// random:N (N random characters); or for each session (see SessionPlaceholder).
func LoadPlaceholder(name string) bool {
	switch name {
	case "id", "run", "key":
		return true
	}
	return SessionPlaceholder(name) || strings.HasPrefix(name, "row.") || strings.HasPrefix(name, "random:")
}

// Expand replaces ${NAME} by lookup's value for NAME, and $$ by $. A placeholder of the load stays
// as it is, and so does a $$ before one: the load's template reads them later. An error names a
// placeholder that lookup does not know, or that has no end.
func Expand(s string, lookup func(name string) (value string, ok bool)) (string, error) {
	tokens, err := Tokens(s)
	if err != nil {
		return "", err
	}
	var out strings.Builder
	for i, t := range tokens {
		value, known := t.Text, true
		switch {
		case t.Text == "$$" && !beforeLoadPlaceholder(tokens[i+1:]):
			value = "$"
		case t.Name != "" && !LoadPlaceholder(t.Name):
			value, known = lookup(t.Name)
		}
		if !known {
			return "", fmt.Errorf("unknown placeholder ${%s}", clip(t.Name))
		}
		out.WriteString(value)
	}
	return out.String(), nil
}

// beforeLoadPlaceholder reports whether the text that follows a $$ looks like a load placeholder's
// name in braces.
func beforeLoadPlaceholder(next []Token) bool {
	if len(next) == 0 || !strings.HasPrefix(next[0].Text, "{") {
		return false
	}
	name, _, ok := strings.Cut(next[0].Text[1:], "}")
	return ok && LoadPlaceholder(name)
}

// Token is a piece of text, a $$, or a placeholder.
type Token struct {
	Text string // as written
	Name string // of a placeholder, else empty
}

// Tokens cuts a text into its tokens. A $ before any character but $ and { is plain text.
func Tokens(s string) ([]Token, error) {
	var out []Token
	for from := 0; s != ""; {
		i := strings.IndexByte(s[from:], '$')
		if i < 0 || from+i == len(s)-1 {
			return append(out, Token{Text: s}), nil
		}
		i += from
		if s[i+1] != '$' && s[i+1] != '{' {
			from = i + 1
			continue
		}
		if i > 0 {
			out = append(out, Token{Text: s[:i]})
		}
		s, from = s[i:], 0
		t := Token{Text: s[:2]}
		if s[1] == '{' {
			end := strings.IndexByte(s, '}')
			if end < 0 {
				return nil, fmt.Errorf("%q opens a placeholder without an end; write $$ for a plain $", clip(s))
			}
			t = Token{Text: s[:end+1], Name: s[2:end]}
			if t.Name == "" {
				return nil, fmt.Errorf("${} names nothing; write $$ for a plain $")
			}
		}
		out, s = append(out, t), s[len(t.Text):]
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

// Literal returns a template that expands to s.
func Literal(s string) string {
	if strings.Contains(s, "${") || strings.Contains(s, "$$") {
		return strings.ReplaceAll(s, "$", "$$")
	}
	return s
}
