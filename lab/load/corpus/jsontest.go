package corpus

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"math/bits"
	"reflect"
	"slices"
	"strconv"
	"strings"
)

// jsonTest is a condition on one field of an answer, or on the same field of each member of an
// array.
type jsonTest struct {
	path   []string // names that lead to the field or, with each, to the array
	each   bool
	member []string // with each: names that lead from a member to its field
	want   want
}

// every is the name in a path that stands for each member of an array.
const every = "*"

// compileTest makes a test of the field at a path: names joined by dots, of which one may be * for
// each member of an array ("*.result", "result.logs.*.address"). With exists the field must exist
// and not be null; otherwise it must equal a value: nil (absent or null), a bool, a number, a
// string, or a list or mapping of such values.
func compileTest(path string, equals any, exists bool) (jsonTest, error) {
	t := jsonTest{path: strings.Split(path, ".")}
	if i := slices.Index(t.path, every); i >= 0 {
		t.path, t.each, t.member = t.path[:i], true, t.path[i+1:]
	}
	if slices.Contains(t.member, every) {
		return t, fmt.Errorf("path %q: one name may be *, since errors are counted by the members of one array", path)
	}
	var err error
	t.want, err = newWant(equals, exists)
	return t, err
}

// jsonFailures returns how many of the units that an answer stands for fail at least one test. A
// test of each member of an array fails member by member: with 20 units and an array of 20, three
// failing members are three failures, and so is each member that is missing. If any other test
// fails, or if the answer is not JSON, all units fail.
func jsonFailures(tests []jsonTest, answer []byte, units int) int {
	var failed members
	least := units
	for i := range tests {
		t := &tests[i]
		s := scanner{in: answer}
		if !t.each {
			field := s.find(t.path)
			if !s.end() || !t.want.holds(field) {
				return units
			}
			continue
		}
		n, ok := t.eachMember(&s, &failed)
		if !ok {
			return units
		}
		least = min(least, n)
	}
	n := failed.count() + units - least
	if units == 1 {
		return min(n, 1) // the request succeeds or fails as a whole
	}
	return min(n, units)
}

// eachMember tests the members of the array and returns their number; ok is false if the answer
// has no such array.
func (t *jsonTest) eachMember(s *scanner, failed *members) (n int, ok bool) {
	if len(t.path) > 0 {
		array := s.find(t.path)
		if !s.end() {
			return 0, false
		}
		*s = scanner{in: array}
	}
	s.open('[')
	for ; s.more(']', n); n++ {
		field := s.find(t.member)
		if s.bad {
			return 0, false
		}
		if !t.want.holds(field) {
			failed.add(n)
		}
	}
	return n, s.end()
}

// members is a set of indexes into an array; the first 1,024 indexes need no allocation.
type members struct {
	first [16]uint64
	more  []uint64
}

func (m *members) add(i int) {
	word := i / 64
	if word < len(m.first) {
		m.first[word] |= 1 << (i % 64)
		return
	}
	for word -= len(m.first); len(m.more) <= word; {
		m.more = append(m.more, 0)
	}
	m.more[word] |= 1 << (i % 64)
}

func (m *members) count() (n int) {
	for _, word := range m.first {
		n += bits.OnesCount64(word)
	}
	for _, word := range m.more {
		n += bits.OnesCount64(word)
	}
	return n
}

// want is the condition that a field must meet: to exist, or to equal a value.
type want struct {
	exists bool
	kind   byte // first byte of the value in JSON: n, t, f, 0 (a number), ", or [ (a list or mapping)
	number float64
	text   string
	value  any // of kind [: the value as encoding/json decodes it
}

func newWant(equals any, exists bool) (want, error) {
	w := want{exists: exists, kind: 'n'}
	if exists || equals == nil {
		return w, nil
	}
	text, err := json.Marshal(equals)
	if err != nil {
		return w, fmt.Errorf("comparing with %v: %w", equals, err)
	}
	if err := json.Unmarshal(text, &w.value); err != nil {
		return w, err
	}
	switch v := w.value.(type) {
	case bool:
		w.kind = text[0]
	case float64:
		w.kind, w.number = '0', v
	case string:
		w.kind, w.text = '"', v
	default:
		w.kind = '['
	}
	return w, nil
}

// holds reports whether a field meets the condition; a nil field is absent.
func (w *want) holds(field []byte) bool {
	if len(field) == 0 || field[0] == 'n' {
		return !w.exists && w.kind == 'n'
	}
	if w.exists {
		return true
	}
	switch w.kind {
	case 't', 'f':
		return field[0] == w.kind
	case '0':
		n, err := strconv.ParseFloat(string(field), 64)
		return err == nil && n == w.number
	case '"':
		return isString(field, w.text)
	case '[':
		var value any
		return json.Unmarshal(field, &value) == nil && reflect.DeepEqual(value, w.value)
	}
	return false
}

// isString reports whether a JSON value is a string of a given text.
func isString(value []byte, text string) bool {
	if value[0] != '"' {
		return false
	}
	if bytes.IndexByte(value, '\\') < 0 {
		return string(value[1:len(value)-1]) == text
	}
	var decoded string
	return json.Unmarshal(value, &decoded) == nil && decoded == text
}

// EachJSONField calls f with the text of each value at a path of names, of which one is * for
// each member of an array. It skips members without the field, and stops where the text is not
// JSON.
func EachJSONField(answer []byte, f func(value []byte), path ...string) {
	s := scanner{in: answer}
	star := slices.Index(path, every)
	if star > 0 {
		s = scanner{in: s.find(path[:star])}
	}
	s.open('[')
	for n := 0; s.more(']', n); n++ {
		if value := s.find(path[star+1:]); value != nil && !s.bad {
			f(value)
		}
	}
}

// ErrNoJSON is the error of JSONField for a text that is not JSON.
var ErrNoJSON = errors.New("the answer is not JSON")

// JSONField returns the text of the first value at a path of names, in which a * stands for the
// first member of an array. It returns nil if there is no such value.
func JSONField(answer []byte, path ...string) ([]byte, error) {
	s := scanner{in: answer}
	for i, name := range path {
		if name != every {
			continue
		}
		array := s.find(path[:i])
		s = scanner{in: array}
		if s.open('['); !s.more(']', 0) {
			return nil, nil
		}
		return s.find(path[i+1:]), nil
	}
	out := s.find(path)
	if s.bad {
		return nil, ErrNoJSON
	}
	return out, nil
}
