package jsonrpc

import (
	"bytes"
	"encoding/json"
)

// null is the id of an answer to what has no valid id.
var null = []byte("null")

// Envelope collects the members of one call as a codec comes across them, and judges the call. A
// codec checks beforehand that the message is JSON.
type Envelope struct {
	NoObject  bool // the element is not an object
	Duplicate bool // an object in the element has two members of one name

	id, method, params, version []byte
	ids                         int
}

// Set takes a member; one with any other name is ignored.
func (e *Envelope) Set(name, value []byte) {
	switch string(name) {
	case "jsonrpc":
		e.version = value
	case "id":
		e.id = value
		e.ids++
	case "method":
		e.method = value
	case "params":
		e.params = value
	}
}

// Call returns the call, with Call.Error where it is not valid.
func (e *Envelope) Call() Call {
	c := Call{ID: e.id}
	switch badID := e.id != nil && (e.ids > 1 || kind(e.id) == '[' || kind(e.id) == '{' || kind(e.id) == 't' || kind(e.id) == 'f'); {
	case e.NoObject:
		c.Error = errNoObject
	case e.Duplicate:
		c.Error = errDuplicate
		if badID {
			c.ID = null
		}
	case badID:
		c.ID, c.Error = null, errID
	case kind(e.version) != '"' || string(unquote(e.version)) != "2.0":
		c.Error = errVersion
	case kind(e.method) != '"':
		c.Error = errMethod
	}
	if c.Error != nil {
		if c.ID == nil {
			c.ID = null
		}
		return c
	}
	c.Method = unquote(e.method)
	switch kind(e.params) {
	case '[', '{':
		c.Params = e.params
	case 0, 'n':
	default: // a notification has no answer in this case either
		c.Error = errParams
	}
	return c
}

// Finish judges a batch whose elements have been counted.
func (b *Batch) Finish(elements, maxCalls int) *Error {
	switch {
	case elements == 0:
		return errEmpty
	case elements > maxCalls:
		return Errorf(InvalidRequest, "the array has %d calls, and %d are permitted", elements, maxCalls)
	}
	return nil
}

// kind returns the first byte of a value; 0 means that there is no value.
func kind(value []byte) byte {
	if len(value) == 0 {
		return 0
	}
	return value[0]
}

// unquote returns the text of a valid JSON string.
func unquote(value []byte) []byte {
	if bytes.IndexByte(value, '\\') < 0 {
		return value[1 : len(value)-1]
	}
	var text string
	_ = json.Unmarshal(value, &text) // the codec has checked it
	return []byte(text)
}

// tooDeep reports whether arrays and objects are nested deeper than MaxDepth in a text that is
// JSON.
func tooDeep(text []byte) bool {
	if bytes.Count(text, []byte("["))+bytes.Count(text, []byte("{")) <= MaxDepth {
		return false
	}
	depth := 0
	for i := 0; i < len(text); i++ {
		switch text[i] {
		case '"':
			for i++; text[i] != '"'; i++ {
				if text[i] == '\\' {
					i++
				}
			}
		case '[', '{':
			if depth++; depth > MaxDepth {
				return true
			}
		case ']', '}':
			depth--
		}
	}
	return false
}
