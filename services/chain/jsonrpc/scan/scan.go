// Package scan is the codec that reads messages by hand, in one pass that checks all that jsonrpc
// demands. The envelope of a call costs no allocation. It writes strings, booleans, null and
// json.RawMessage, which it trusts, by hand, and other values as jsonrpc.Std. It starts no
// goroutines.
package scan

import (
	"encoding/json"
	"fmt"
	"slices"
	"sync"

	"dyno/services/chain/jsonrpc"
)

// Codec implements jsonrpc.Codec.
type Codec struct{}

var _ jsonrpc.Codec = Codec{}

var scanners = sync.Pool{New: func() any { return new(scanner) }}

// keptNames bounds the memory for names that a scanner keeps.
const keptNames = 1024

// Decode implements jsonrpc.Codec.
func (Codec) Decode(message []byte, maxCalls int, into *jsonrpc.Batch) *jsonrpc.Error {
	s := scanners.Get().(*scanner)
	s.text = message
	elements, ok := s.message(maxCalls, into)
	var no *jsonrpc.Error
	if ok {
		no = into.Finish(elements, maxCalls)
	} else {
		no = jsonrpc.NoJSON(fmt.Sprintf("%s at byte %d", s.why, s.at))
	}
	names := s.names[:cap(s.names)]
	clear(names)
	*s = scanner{}
	if len(names) <= keptNames {
		s.names = names[:0]
	}
	scanners.Put(s)
	return no
}

// message reads the whole text, and returns the number of its elements.
func (s *scanner) message(maxCalls int, into *jsonrpc.Batch) (elements int, ok bool) {
	s.space()
	if s.peek() != '[' {
		call, ok := s.element()
		into.Calls = append(into.Calls, call)
		return 1, ok && s.end()
	}
	into.Array = true
	if !s.open() {
		return 0, false
	}
	for more := s.peek() != ']'; more; {
		call, ok := s.element()
		if !ok {
			return 0, false
		}
		if elements++; elements <= maxCalls {
			into.Calls = append(into.Calls, call)
		}
		if more, ok = s.comma(']'); !ok {
			return 0, false
		}
	}
	s.close()
	return elements, s.end()
}

// element reads a call, or what is none.
func (s *scanner) element() (c jsonrpc.Call, ok bool) {
	var e jsonrpc.Envelope
	s.duplicate = false
	if s.peek() == '{' {
		ok = s.object(&e)
	} else {
		e.NoObject = true
		ok = s.value()
	}
	if !ok {
		return c, false
	}
	e.Duplicate = s.duplicate
	return e.Call(), true
}

// AppendValue implements jsonrpc.Codec.
func (Codec) AppendValue(to []byte, value any) ([]byte, error) {
	switch v := value.(type) {
	case nil:
		return append(to, "null"...), nil
	case bool:
		if v {
			return append(to, "true"...), nil
		}
		return append(to, "false"...), nil
	case string:
		if isPlain(v) {
			to = append(slices.Grow(to, len(v)+2), '"')
			return append(append(to, v...), '"'), nil
		}
	case json.RawMessage:
		if len(v) > 0 {
			return append(to, v...), nil
		}
	}
	return jsonrpc.Std{}.AppendValue(to, value)
}

// isPlain reports whether a text is a JSON string as it is.
func isPlain(s string) bool {
	for i := range len(s) {
		if c := s[i]; c < 0x20 || c >= 0x80 || c == '"' || c == '\\' {
			return false
		}
	}
	return true
}
