package sink

import (
	"bytes"
	"errors"
	"fmt"
)

// received is what the sink needs of
// {"type":..,"timestamp":..,"data":{"id":..,"key":..,"payload":..}}. Both are parts of the body,
// escapes left as they came.
type received struct {
	id, key []byte
}

// parse finds the ids and keys in a webhook's body: one notice, or an array of them. Decoding
// everything would cost as much as sending it, on a machine that the service shares; so values are
// skipped without looking into them.
func parse(body []byte) ([]received, error) {
	s := scanner{b: body}
	var out []received
	if s.peek() == '[' {
		s.i++
		for more := s.peek() != ']'; more; more = s.accept(',') {
			n, err := s.notice()
			if err != nil {
				return nil, err
			}
			out = append(out, n)
		}
		if !s.accept(']') {
			return nil, s.error("an array's end")
		}
	} else {
		n, err := s.notice()
		if err != nil {
			return nil, err
		}
		out = append(out, n)
	}
	if s.peek() != 0 || s.i < len(s.b) {
		return nil, s.error("the end")
	}
	if len(out) == 0 {
		return nil, errors.New("an empty batch")
	}
	return out, nil
}

// scanner walks over JSON text.
type scanner struct {
	b []byte
	i int
}

func (s *scanner) error(wanted string) error {
	return fmt.Errorf("not a notice: wanted %s at byte %d", wanted, s.i)
}

// peek returns the next byte that is not space; 0 at the end.
func (s *scanner) peek() byte {
	for ; s.i < len(s.b); s.i++ {
		switch c := s.b[s.i]; c {
		case ' ', '\t', '\n', '\r':
		default:
			return c
		}
	}
	return 0
}

func (s *scanner) accept(c byte) bool {
	if s.peek() != c {
		return false
	}
	s.i++
	return true
}

// notice reads the envelope of one notice.
func (s *scanner) notice() (n received, err error) {
	err = s.object(func(name []byte) (err error) {
		if string(name) == "data" && s.peek() == '{' {
			n, err = s.data()
		} else {
			_, err = s.value()
		}
		return err
	})
	if err == nil && (len(n.id) == 0 || n.key == nil) {
		err = errors.New("not a notice: data, or the id or key in it, is missing")
	}
	return n, err
}

// data reads what the envelope holds.
func (s *scanner) data() (n received, err error) {
	err = s.object(func(name []byte) error {
		value, err := s.value()
		switch string(name) {
		case "id":
			n.id = value
		case "key":
			n.key = value
		}
		return err
	})
	return n, err
}

// object walks over an object's members; visit passes over a member's value.
func (s *scanner) object(visit func(name []byte) error) error {
	if !s.accept('{') {
		return s.error("an object")
	}
	for more := s.peek() != '}'; more; more = s.accept(',') {
		name, ok := s.text()
		if !ok || !s.accept(':') {
			return s.error("a member")
		}
		if err := visit(name); err != nil {
			return err
		}
	}
	if !s.accept('}') {
		return s.error("an object's end")
	}
	return nil
}

// value passes over a value and returns what is between its quotes, if it is a string.
func (s *scanner) value() (text []byte, err error) {
	ok := false
	if s.peek() == '"' {
		text, ok = s.text()
	} else {
		ok = s.skip()
	}
	if !ok {
		return nil, s.error("a value")
	}
	return text, nil
}

// text reads a string and returns what is between its quotes.
func (s *scanner) text() ([]byte, bool) {
	if !s.accept('"') {
		return nil, false
	}
	start := s.i
	for {
		k := bytes.IndexByte(s.b[s.i:], '"')
		if k < 0 {
			return nil, false
		}
		s.i += k + 1
		escapes := 0
		for j := s.i - 2; j >= start && s.b[j] == '\\'; j-- {
			escapes++
		}
		if escapes%2 == 0 {
			return s.b[start : s.i-1], true
		}
	}
}

// skip passes over a value that is no string, by its brackets.
func (s *scanner) skip() bool {
	for depth, start := 0, s.i; s.i < len(s.b); s.i++ {
		switch s.b[s.i] {
		case '"':
			if _, ok := s.text(); !ok {
				return false
			}
			s.i--
		case '{', '[':
			depth++
		case '}', ']':
			if depth--; depth < 0 {
				return s.i > start
			}
			if depth == 0 {
				s.i++
				return true
			}
		case ',':
			if depth == 0 {
				return s.i > start
			}
		}
	}
	return false
}
