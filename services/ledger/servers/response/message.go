package response

import "strconv"

// RequestID finds the id at the top level of a message, without decoding anything else.
func RequestID(message []byte) (id uint64, ok bool) {
	s := scanner{bytes: message}
	s.space()
	if !s.take('{') {
		return 0, false
	}
	for {
		s.space()
		key, _, fine := s.text()
		if !fine {
			return 0, false
		}
		s.space()
		if !s.take(':') {
			return 0, false
		}
		s.space()
		from := s.at
		if !s.skip(1) {
			return 0, false
		}
		if string(key) == "id" {
			n, err := strconv.ParseUint(string(message[from:s.at]), 10, 64)
			return n, err == nil
		}
		s.space()
		if !s.take(',') {
			return 0, false
		}
	}
}
