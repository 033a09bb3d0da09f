package jsonrpc

import (
	"bytes"
	"encoding/json"
)

// Params reads the array of parameters into pointers, by position. Those from required on may be
// missing or null, and stay as they are then. What does not fit is an error of code -32602, with
// go-ethereum's words.
func Params(params []byte, required int, into ...any) error {
	var values []json.RawMessage
	if len(params) > 0 {
		if params[0] != '[' {
			return Errorf(InvalidParams, "params must be an array")
		}
		if err := json.Unmarshal(params, &values); err != nil {
			return Errorf(InvalidParams, "params cannot be read: %v", err)
		}
	}
	switch {
	case len(values) > len(into):
		return Errorf(InvalidParams, "too many arguments, want at most %d", len(into))
	case len(values) < required:
		return Errorf(InvalidParams, "missing value for required argument %d", len(values))
	}
	for i, value := range values {
		if string(value) == "null" {
			if i < required {
				return Errorf(InvalidParams, "missing value for required argument %d", i)
			}
			continue
		}
		if err := json.Unmarshal(value, into[i]); err != nil {
			return Errorf(InvalidParams, "invalid argument %d: %v", i, err)
		}
	}
	return nil
}

// OneString returns the text of the only parameter, a string without escapes, such as the
// hexadecimal of a transaction. It shares memory with params and allocates only for an error.
func OneString(params []byte) ([]byte, error) {
	if len(params) < 2 || params[0] != '[' {
		return nil, Errorf(InvalidParams, "params must be an array of one string")
	}
	text := bytes.Trim(params[1:len(params)-1], " \t\r\n")
	if len(text) < 2 || text[0] != '"' || bytes.IndexByte(text[1:], '"') != len(text)-2 || bytes.IndexByte(text, '\\') >= 0 {
		return nil, Errorf(InvalidParams, "params must be an array of one string without escapes")
	}
	return text[1 : len(text)-1], nil
}
