package jsonrpc

import (
	"bytes"
	"encoding/json"
	"unicode/utf16"
	"unicode/utf8"
)

// Std is the codec over encoding/json. That does not report duplicate names, bytes that are not
// UTF-8 or halves of surrogate pairs, so Std checks the text for these; it reads objects token by
// token.
type Std struct{}

var _ Codec = Std{}

// Decode implements Codec.
func (Std) Decode(message []byte, maxCalls int, into *Batch) *Error {
	if no := checkText(message); no != nil {
		return no
	}
	message = bytes.TrimLeft(message, " \t\r\n")
	if message[0] != '[' {
		into.Calls = append(into.Calls, readCall(message))
		return nil
	}
	into.Array = true
	var elements []json.RawMessage
	if err := json.Unmarshal(message, &elements); err != nil {
		return NoJSON(err.Error())
	}
	for _, element := range elements[:min(len(elements), maxCalls)] {
		into.Calls = append(into.Calls, readCall(element))
	}
	return into.Finish(len(elements), maxCalls)
}

// checkText refuses a text that is not JSON, or not what the package comment permits.
func checkText(text []byte) *Error {
	if !utf8.Valid(text) {
		return NoJSON("it is not UTF-8")
	}
	if !json.Valid(text) {
		var v json.RawMessage
		return NoJSON(json.Unmarshal(text, &v).Error())
	}
	if tooDeep(text) {
		return NoJSON("it is nested too deeply")
	}
	if halfPair(text) {
		return NoJSON("half of a surrogate pair is escaped")
	}
	return nil
}

// halfPair reports whether a JSON text escapes half of a surrogate pair (RFC 8259, section 8.2).
func halfPair(text []byte) bool {
	for {
		i := bytes.IndexByte(text, '\\')
		if i < 0 {
			return false
		}
		text = text[i:]
		first := unit(text)
		switch {
		case text[1] != 'u':
			text = text[2:]
		case !utf16.IsSurrogate(first):
			text = text[6:]
		case utf16.DecodeRune(first, unit(text[6:])) == utf8.RuneError:
			return true
		default:
			text = text[12:]
		}
	}
}

// unit returns the UTF-16 unit of the \uXXXX that a text begins with, 0 for another text.
func unit(text []byte) (r rune) {
	if len(text) < 6 || text[0] != '\\' || text[1] != 'u' {
		return 0
	}
	for _, c := range text[2:6] {
		switch {
		case c <= '9':
			c -= '0'
		default:
			c = c | 0x20 - 'a' + 10
		}
		r = r<<4 | rune(c)
	}
	return r
}

// readCall reads an element of a message.
func readCall(element []byte) Call {
	var e Envelope
	if element[0] != '{' {
		e.NoObject = true
		return e.Call()
	}
	d := json.NewDecoder(bytes.NewReader(element))
	seen := map[string]bool{}
	d.Token()
	for d.More() {
		name, _ := d.Token()
		var value json.RawMessage
		d.Decode(&value)
		text := name.(string)
		e.Duplicate = e.Duplicate || seen[text] || hasDuplicate(value)
		seen[text] = true
		e.Set([]byte(text), value)
	}
	return e.Call()
}

// hasDuplicate reports whether an object in a valid value has a name twice.
func hasDuplicate(value []byte) bool {
	if bytes.IndexByte(value, '{') < 0 {
		return false
	}
	d := json.NewDecoder(bytes.NewReader(value))
	d.UseNumber() // a number may be too large for float64
	return duplicates(d)
}

// duplicates reads a value and reports whether an object in it has a name twice.
func duplicates(d *json.Decoder) (found bool) {
	token, _ := d.Token()
	switch token {
	case json.Delim('['):
		for d.More() {
			found = duplicates(d) || found
		}
	case json.Delim('{'):
		seen := map[string]bool{}
		for d.More() {
			name, _ := d.Token()
			text, _ := name.(string)
			found = found || seen[text]
			seen[text] = true
			found = duplicates(d) || found
		}
	default:
		return false
	}
	d.Token() // the closing bracket
	return found
}

// AppendValue implements Codec.
func (Std) AppendValue(to []byte, value any) ([]byte, error) {
	out := bytes.NewBuffer(to)
	e := json.NewEncoder(out)
	e.SetEscapeHTML(false)
	if err := e.Encode(value); err != nil {
		return to, err
	}
	return bytes.TrimSuffix(out.Bytes(), []byte("\n")), nil
}
