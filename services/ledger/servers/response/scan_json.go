package response

import (
	"bytes"
	"encoding/binary"
	"encoding/json"
	"unicode/utf8"
)

func (s *scanner) skip(depth int) bool {
	switch c := s.peek(); c {
	case '{':
		return s.object(elsewhere, depth)
	case '[':
		return s.list(depth, s.skip)
	case '"':
		_, _, ok := s.text()
		return ok
	case 't':
		return s.literal("true")
	case 'f':
		return s.literal("false")
	case 'n':
		return s.literal("null")
	default:
		return s.number()
	}
}

func (s *scanner) literal(word string) bool {
	if !bytes.HasPrefix(s.bytes[s.at:], []byte(word)) {
		return false
	}
	s.at += len(word)
	return true
}

func (s *scanner) number() bool {
	s.take('-')
	if !s.take('0') && !s.digits() {
		return false
	}
	if s.take('.') && !s.digits() {
		return false
	}
	if c := s.peek(); c == 'e' || c == 'E' {
		s.at++
		if !s.take('+') {
			s.take('-')
		}
		return s.digits()
	}
	return true
}

func (s *scanner) digits() bool {
	from := s.at
	for c := s.peek(); '0' <= c && c <= '9'; c = s.peek() {
		s.at++
	}
	return s.at > from
}

// text reads a string, and returns the bytes between its quotes; plain: they are the string.
func (s *scanner) text() (raw []byte, plain, ok bool) {
	if !s.take('"') {
		return nil, false, false
	}
	from, plain, ascii := s.at, true, true
	for s.at < len(s.bytes) {
		for s.at+8 <= len(s.bytes) && ordinary(binary.LittleEndian.Uint64(s.bytes[s.at:])) {
			s.at += 8
		}
		if s.at == len(s.bytes) {
			break
		}
		switch c := s.bytes[s.at]; {
		case c == '"':
			raw = s.bytes[from:s.at]
			s.at++
			return raw, plain && (ascii || utf8.Valid(raw)), true
		case c == '\\':
			plain = false
			if !s.escape() {
				return nil, false, false
			}
			continue
		case c < ' ':
			return nil, false, false
		case c >= utf8.RuneSelf:
			ascii = false
		}
		s.at++
	}
	return nil, false, false
}

// ordinary says of eight bytes in one step that none is a quote, a backslash, a control character
// or not ASCII. False negatives are possible, false positives are not.
func ordinary(eight uint64) bool {
	const each, high = 0x0101010101010101, 0x8080808080808080
	below := func(x, n uint64) uint64 { return (x - n*each) & ^x } // its high bits: bytes below n
	return (eight|below(eight, ' ')|below(eight^'"'*each, 1)|below(eight^'\\'*each, 1))&high == 0
}

func (s *scanner) escape() bool {
	s.at++
	c := s.peek()
	s.at++
	switch c {
	case '"', '\\', '/', 'b', 'f', 'n', 'r', 't':
		return true
	case 'u':
		for range 4 {
			c := s.peek()
			lower := c | ' '
			if (c < '0' || c > '9') && (lower < 'a' || lower > 'f') {
				return false
			}
			s.at++
		}
		return true
	}
	return false
}

// unquoted decodes a string that is not plain. No server sends one here, so it may be slow.
func unquoted(raw []byte) []byte {
	var text string
	quoted := append(append([]byte{'"'}, raw...), '"')
	if json.Unmarshal(quoted, &text) != nil { // text has excluded it
		return nil
	}
	return []byte(text)
}
