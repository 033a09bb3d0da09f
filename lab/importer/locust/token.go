package locust

import (
	"fmt"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"
)

// kind is a kind of token.
type kind uint8

const (
	name kind = iota
	number
	text  // a text in quotes
	other // an operator or a bracket
)

// token is a token of Python.
type token struct {
	kind kind
	text string // of a text: its value, with {NAME} in a formatted one
	line int
	form bool // a formatted text: f"..."
}

func (t token) is(op string) bool { return t.kind == other && t.text == op }

// statement is a logical line: brackets and \ join lines.
type statement struct {
	indent int
	tokens []token
}

// maxTokens bounds a file.
const maxTokens = 1_000_000

// scanner cuts a file into statements.
type scanner struct {
	src  string
	at   int
	line int
	open int // brackets
	out  []statement
	now  statement
	n    int
}

// statements returns a file's statements.
func statements(src string) ([]statement, error) {
	s := scanner{src: src, line: 1}
	s.indent()
	for s.at < len(s.src) {
		if s.n++; s.n > maxTokens {
			return nil, fmt.Errorf("it has more than %d tokens", maxTokens)
		}
		if err := s.next(); err != nil {
			return nil, err
		}
	}
	s.end()
	return s.out, nil
}

// end ends a statement.
func (s *scanner) end() {
	if len(s.now.tokens) > 0 {
		s.out = append(s.out, s.now)
	}
	s.now = statement{}
}

// indent measures the spaces at a line's begin.
func (s *scanner) indent() {
	for ; s.at < len(s.src) && (s.src[s.at] == ' ' || s.src[s.at] == '\t'); s.at++ {
		s.now.indent++
		if s.src[s.at] == '\t' {
			s.now.indent += 7
		}
	}
}

func (s *scanner) next() error {
	rest := s.src[s.at:]
	c, width := utf8.DecodeRuneInString(rest)
	switch {
	case c == '\n':
		s.at++
		s.line++
		if s.open == 0 {
			s.end()
			s.indent()
		}
	case c == '\\' && strings.HasPrefix(strings.TrimPrefix(rest[1:], "\r"), "\n"):
		s.at += 1 + strings.IndexByte(rest[1:], '\n') + 1
		s.line++
	case c == '#':
		if end := strings.IndexByte(rest, '\n'); end >= 0 {
			s.at += end
		} else {
			s.at = len(s.src)
		}
	case unicode.IsSpace(c):
		s.at += width
	case c == '"' || c == '\'':
		return s.quoted("")
	case c == '_' || unicode.IsLetter(c):
		return s.word(rest)
	case c >= '0' && c <= '9':
		end := strings.IndexFunc(rest, func(r rune) bool { return !(unicode.IsLetter(r) || unicode.IsDigit(r) || r == '.' || r == '_') })
		if end < 0 {
			end = len(rest)
		}
		s.add(token{kind: number, text: strings.ReplaceAll(rest[:end], "_", ""), line: s.line})
		s.at += end
	default:
		if strings.ContainsRune("([{", c) {
			s.open++
		} else if strings.ContainsRune(")]}", c) {
			s.open = max(0, s.open-1)
		}
		if strings.HasPrefix(rest, "**") {
			width = 2
		}
		s.add(token{kind: other, text: rest[:width], line: s.line})
		s.at += width
	}
	return nil
}

func (s *scanner) add(t token) { s.now.tokens = append(s.now.tokens, t) }

// word reads a name, or the letters before a text's quotes.
func (s *scanner) word(rest string) error {
	end := strings.IndexFunc(rest, func(r rune) bool { return !(r == '_' || unicode.IsLetter(r) || unicode.IsDigit(r)) })
	if end < 0 {
		end = len(rest)
	}
	if prefix := strings.ToLower(rest[:end]); end < len(rest) && (rest[end] == '"' || rest[end] == '\'') && end <= 2 && strings.Trim(prefix, "rbfu") == "" {
		s.at += end
		return s.quoted(prefix)
	}
	s.add(token{kind: name, text: rest[:end], line: s.line})
	s.at += end
	return nil
}

// quoted reads a text in one or three quotes.
func (s *scanner) quoted(prefix string) error {
	from, quote := s.line, s.src[s.at:s.at+1]
	if three := strings.Repeat(quote, 3); strings.HasPrefix(s.src[s.at:], three) {
		quote = three
	}
	s.at += len(quote)
	var out strings.Builder
	for s.at < len(s.src) {
		rest := s.src[s.at:]
		switch {
		case strings.HasPrefix(rest, quote):
			s.at += len(quote)
			s.add(token{kind: text, text: out.String(), line: from, form: strings.Contains(prefix, "f")})
			return nil
		case rest[0] == '\n' && len(quote) == 1:
			return fmt.Errorf("line %d: a text has no end", from)
		case rest[0] == '\\' && len(rest) > 1:
			used, value := escape(rest, strings.Contains(prefix, "r"))
			out.WriteString(value)
			s.line += strings.Count(rest[:used], "\n")
			s.at += used
		default:
			if rest[0] == '\n' {
				s.line++
			}
			out.WriteByte(rest[0])
			s.at++
		}
	}
	return fmt.Errorf("line %d: a text has no end", from)
}

// escape returns the length and the meaning of an escape sequence.
func escape(s string, raw bool) (used int, value string) {
	if raw {
		return 2, s[:2]
	}
	switch s[1] {
	case '\n':
		return 2, ""
	case 'n':
		return 2, "\n"
	case 't':
		return 2, "\t"
	case 'r':
		return 2, "\r"
	case '\\', '\'', '"':
		return 2, s[1:2]
	}
	for letter, digits := range map[byte]int{'x': 2, 'u': 4, 'U': 8} {
		if s[1] != letter || len(s) < 2+digits {
			continue
		}
		if n, err := strconv.ParseUint(s[2:2+digits], 16, 32); err == nil {
			return 2 + digits, string(rune(n))
		}
	}
	return 2, s[:2]
}
