package corpus

// scanner walks through a JSON text and checks its grammar (RFC 8259).
type scanner struct {
	in    []byte
	at    int
	depth int
	bad   bool // the text is not JSON; the scanner reads no further
}

// maxDepth bounds the nesting of a text; the scanner rejects deeper ones.
const maxDepth = 256

func (s *scanner) fail() { s.bad, s.at = true, len(s.in) }

// peek returns the next byte that is not white space; 0: there is none.
func (s *scanner) peek() byte {
	for ; s.at < len(s.in); s.at++ {
		switch c := s.in[s.at]; c {
		case ' ', '\t', '\n', '\r':
		default:
			return c
		}
	}
	return 0
}

// end reports whether the text was JSON and has no more values.
func (s *scanner) end() bool { return s.peek() == 0 && s.at == len(s.in) && !s.bad }

// open reads the bracket that opens an array or object.
func (s *scanner) open(bracket byte) {
	if s.peek() != bracket || s.depth == maxDepth {
		s.fail()
		return
	}
	s.at++
	s.depth++
}

// more moves to the next member of an array or object, of which n were read before. It reports
// whether there is one; if not, it has read the closing bracket.
func (s *scanner) more(closing byte, n int) bool {
	switch c := s.peek(); {
	case s.bad:
		return false
	case c == closing:
		s.at++
		s.depth--
		return false
	case n == 0:
		return true
	case c != ',':
		s.fail()
		return false
	}
	s.at++
	return true
}

// find reads a value and returns the text of the field at a path within it, or nil if there is
// none. If several fields have the same name, the last one counts.
func (s *scanner) find(path []string) []byte {
	if len(path) == 0 {
		s.peek()
		from := s.at
		s.skip()
		if s.bad {
			return nil
		}
		return s.in[from:s.at]
	}
	if s.peek() != '{' {
		s.skip()
		return nil
	}
	var found []byte
	s.open('{')
	for n := 0; s.more('}', n); n++ {
		if s.isName(path[0]) {
			found = s.find(path[1:])
		} else {
			s.skip()
		}
	}
	return found
}

// isName reads the next name of an object and its colon, and reports whether the name is as
// given.
func (s *scanner) isName(name string) bool {
	s.peek()
	from := s.at
	s.text()
	if s.bad {
		return false
	}
	is := isString(s.in[from:s.at], name)
	if s.peek() != ':' {
		s.fail()
		return false
	}
	s.at++
	return is
}

// skip reads a value and ignores it.
func (s *scanner) skip() {
	switch c := s.peek(); c {
	case '{':
		s.open('{')
		for n := 0; s.more('}', n); n++ {
			s.isName("")
			s.skip()
		}
	case '[':
		s.open('[')
		for n := 0; s.more(']', n); n++ {
			s.skip()
		}
	case '"':
		s.text()
	case 't':
		s.word("true")
	case 'f':
		s.word("false")
	case 'n':
		s.word("null")
	default:
		s.number()
	}
}

func (s *scanner) word(w string) {
	if len(s.in)-s.at < len(w) || string(s.in[s.at:s.at+len(w)]) != w {
		s.fail()
		return
	}
	s.at += len(w)
}

func (s *scanner) text() {
	if s.at == len(s.in) || s.in[s.at] != '"' {
		s.fail()
		return
	}
	for s.at++; s.at < len(s.in); s.at++ {
		for s.at < len(s.in) && plain[s.in[s.at]] {
			s.at++
		}
		switch {
		case s.at == len(s.in):
		case s.in[s.at] == '"':
			s.at++
			return
		case s.in[s.at] == '\\':
			s.escape()
		default:
			s.fail()
			return
		}
	}
	s.fail()
}

// plain holds true for each byte that may appear unescaped in a JSON string.
var plain = func() (t [256]bool) {
	for c := range t {
		t[c] = c >= ' ' && c != '"' && c != '\\'
	}
	return t
}()

// escape reads an escape sequence; it leaves the scanner at the sequence's last byte.
func (s *scanner) escape() {
	if s.at++; s.at == len(s.in) {
		s.fail()
		return
	}
	switch s.in[s.at] {
	case '"', '\\', '/', 'b', 'f', 'n', 'r', 't':
	case 'u':
		if len(s.in)-s.at < 5 {
			s.fail()
			return
		}
		for range 4 {
			s.at++
			if !isHex(s.in[s.at]) {
				s.fail()
				return
			}
		}
	default:
		s.fail()
	}
}

func isHex(c byte) bool {
	return c >= '0' && c <= '9' || c >= 'a' && c <= 'f' || c >= 'A' && c <= 'F'
}

func (s *scanner) number() {
	if s.at < len(s.in) && s.in[s.at] == '-' {
		s.at++
	}
	if s.at < len(s.in) && s.in[s.at] == '0' {
		s.at++
	} else {
		s.digits()
	}
	if s.at < len(s.in) && s.in[s.at] == '.' {
		s.at++
		s.digits()
	}
	if s.at < len(s.in) && (s.in[s.at] == 'e' || s.in[s.at] == 'E') {
		if s.at++; s.at < len(s.in) && (s.in[s.at] == '+' || s.in[s.at] == '-') {
			s.at++
		}
		s.digits()
	}
}

func (s *scanner) digits() {
	from := s.at
	for s.at < len(s.in) && s.in[s.at] >= '0' && s.in[s.at] <= '9' {
		s.at++
	}
	if s.at == from {
		s.fail()
	}
}
