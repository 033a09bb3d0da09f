package scan

import (
	"bytes"
	"encoding/binary"
	"encoding/json"
	"math/bits"
	"unicode/utf16"
	"unicode/utf8"

	"dyno/services/chain/jsonrpc"
)

// scanner reads a text. Its methods leave at behind what they read, and return false after an
// error, of which why and at say what it is and where.
type scanner struct {
	text      []byte
	at        int
	depth     int      // of open arrays and objects
	names     [][]byte // of the objects that are open
	duplicate bool     // a name occurred twice in an object
	why       string
}

func (s *scanner) fail(why string) bool {
	s.why = why
	return false
}

// peek returns the next byte, 0 at the end. A zero in the text is valid nowhere.
func (s *scanner) peek() byte {
	if s.at < len(s.text) {
		return s.text[s.at]
	}
	return 0
}

func (s *scanner) space() {
	for s.at < len(s.text) {
		switch s.text[s.at] {
		case ' ', '\t', '\r', '\n':
			s.at++
		default:
			return
		}
	}
}

// end reports whether the text ends here.
func (s *scanner) end() bool {
	s.space()
	return s.at == len(s.text) || s.fail("text after the message")
}

// open passes the bracket or brace that begins an array or an object.
func (s *scanner) open() bool {
	if s.depth++; s.depth > jsonrpc.MaxDepth {
		return s.fail("nested too deeply")
	}
	s.at++
	s.space()
	return true
}

// close passes the bracket or brace that ends an array or an object.
func (s *scanner) close() {
	s.depth--
	s.at++
}

// comma passes what follows a member of an array or an object. If that is the end, more is false
// and the end is not passed.
func (s *scanner) comma(end byte) (more, ok bool) {
	s.space()
	switch s.peek() {
	case end:
		return false, true
	case ',':
		s.at++
		s.space()
		return true, true
	}
	return false, s.fail("a comma or an end is missing")
}

// value passes any value.
func (s *scanner) value() bool {
	switch s.peek() {
	case '"':
		return s.string()
	case '{':
		return s.object(nil)
	case '[':
		return s.array()
	case 't':
		return s.word("true")
	case 'f':
		return s.word("false")
	case 'n':
		return s.word("null")
	}
	return s.number()
}

func (s *scanner) word(w string) bool {
	if !bytes.HasPrefix(s.text[s.at:], []byte(w)) {
		return s.fail("no value")
	}
	s.at += len(w)
	return true
}

func (s *scanner) array() (ok bool) {
	if !s.open() {
		return false
	}
	for more := s.peek() != ']'; more; {
		if !s.value() {
			return false
		}
		if more, ok = s.comma(']'); !ok {
			return false
		}
	}
	s.close()
	return true
}

// object passes an object, and sets its members in an envelope; nil: none.
func (s *scanner) object(e *jsonrpc.Envelope) (ok bool) {
	if !s.open() {
		return false
	}
	own := names{base: len(s.names)}
	for more := s.peek() != '}'; more; {
		name, ok := s.name()
		if !ok {
			return false
		}
		if own.has(s, name) {
			s.duplicate = true
		}
		begin := s.at
		if !s.value() {
			return false
		}
		if e != nil {
			e.Set(name, s.text[begin:s.at])
		}
		if more, ok = s.comma('}'); !ok {
			return false
		}
	}
	s.names = s.names[:own.base]
	s.close()
	return true
}

// name passes a member's name and the colon.
func (s *scanner) name() (name []byte, ok bool) {
	if s.peek() != '"' {
		return nil, s.fail("a name is missing")
	}
	begin := s.at
	if !s.string() {
		return nil, false
	}
	name = s.text[begin+1 : s.at-1]
	if bytes.IndexByte(name, '\\') >= 0 {
		var text string
		_ = json.Unmarshal(s.text[begin:s.at], &text) // it is valid
		name = []byte(text)
	}
	s.space()
	if s.peek() != ':' {
		return nil, s.fail("a colon is missing")
	}
	s.at++
	s.space()
	return name, true
}

// fewNames is the number of an object's names up to which they are compared one by one.
const fewNames = 16

// names are those of one object: the scanner's from base on, or a set when there are many.
type names struct {
	base int
	many map[string]struct{}
}

// has reports whether the object has a name already, and adds it.
func (n *names) has(s *scanner, name []byte) bool {
	if n.many != nil {
		before := len(n.many)
		n.many[string(name)] = struct{}{}
		return len(n.many) == before
	}
	for _, known := range s.names[n.base:] {
		if bytes.Equal(known, name) {
			return true
		}
	}
	if s.names = append(s.names, name); len(s.names)-n.base > fewNames {
		n.many = make(map[string]struct{}, 4*fewNames)
		for _, known := range s.names[n.base:] {
			n.many[string(known)] = struct{}{}
		}
	}
	return false
}

// string passes a string: eight bytes a step where none of them is special.
func (s *scanner) string() bool {
	s.at++
	for {
		for s.at+8 <= len(s.text) {
			found := special(binary.LittleEndian.Uint64(s.text[s.at:]))
			if found != 0 {
				s.at += bits.TrailingZeros64(found) / 8
				break
			}
			s.at += 8
		}
		if s.at >= len(s.text) {
			return s.fail("a string does not end")
		}
		switch c := s.text[s.at]; {
		case c == '"':
			s.at++
			return true
		case c == '\\':
			if !s.escape() {
				return false
			}
		case c < 0x20:
			return s.fail("a control character in a string")
		case c < utf8.RuneSelf:
			s.at++
		default:
			r, n := utf8.DecodeRune(s.text[s.at:])
			if r == utf8.RuneError && n == 1 {
				return s.fail("bytes that are not UTF-8")
			}
			s.at += n
		}
	}
}

// special returns a word whose lowest bit set is in the first byte of eight that ends the run of a
// string's plain bytes: a quote, a backslash, a control character or a byte beyond ASCII. (Bit
// Twiddling Hacks, "Determine if a word has a byte less than n"; bytes above the lowest may be
// wrong.)
func special(eight uint64) uint64 {
	const ones, highs = 0x0101010101010101, 0x8080808080808080
	quotes, backslashes := eight^(ones*'"'), eight^(ones*'\\')
	return (eight | (eight-ones*0x20)&^eight | (quotes-ones)&^quotes | (backslashes-ones)&^backslashes) & highs
}

// escape passes a backslash and what it escapes.
func (s *scanner) escape() bool {
	if s.at+1 < len(s.text) {
		switch s.text[s.at+1] {
		case '"', '\\', '/', 'b', 'f', 'n', 'r', 't':
			s.at += 2
			return true
		case 'u':
			return s.unicode()
		}
	}
	return s.fail("no escape")
}

// unicode passes \uXXXX, or two of them that are a surrogate pair.
func (s *scanner) unicode() bool {
	first, ok := s.unit(s.at)
	if !ok {
		return s.fail("no escape")
	}
	s.at += 6
	if !utf16.IsSurrogate(first) {
		return true
	}
	second, ok := s.unit(s.at)
	if !ok || utf16.DecodeRune(first, second) == utf8.RuneError {
		return s.fail("half of a surrogate pair")
	}
	s.at += 6
	return true
}

// unit returns the UTF-16 unit of the \uXXXX at an offset.
func (s *scanner) unit(at int) (r rune, ok bool) {
	if at+6 > len(s.text) || s.text[at] != '\\' || s.text[at+1] != 'u' {
		return 0, false
	}
	for _, c := range s.text[at+2 : at+6] {
		switch {
		case '0' <= c && c <= '9':
			c -= '0'
		case 'a' <= c|0x20 && c|0x20 <= 'f':
			c = c | 0x20 - 'a' + 10
		default:
			return 0, false
		}
		r = r<<4 | rune(c)
	}
	return r, true
}

func (s *scanner) number() bool {
	if s.peek() == '-' {
		s.at++
	}
	if s.peek() == '0' {
		s.at++
	} else if !s.digits() {
		return s.fail("no value")
	}
	if s.peek() == '.' {
		s.at++
		if !s.digits() {
			return s.fail("no digit after the point")
		}
	}
	if s.peek()|0x20 == 'e' {
		s.at++
		if c := s.peek(); c == '+' || c == '-' {
			s.at++
		}
		if !s.digits() {
			return s.fail("no digit in the exponent")
		}
	}
	return true
}

// digits passes digits, and reports whether there was one.
func (s *scanner) digits() bool {
	begin := s.at
	for c := s.peek(); '0' <= c && c <= '9'; c = s.peek() {
		s.at++
	}
	return s.at > begin
}
