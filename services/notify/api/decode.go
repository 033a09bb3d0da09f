package api

import (
	"bytes"
	"errors"
	"io"
	"net/http"
	"sync"

	"github.com/go-json-experiment/json/jsontext"

	"dyno/parts/refusal"
	"dyno/services/notify/notice"
)

// decoder reads notices. It reads the text once and keeps the payload as it came, where
// encoding/json reads it twice and a third time for what follows: a fifth of what a notice in a
// batch costs until its webhook is made (go test -bench Decode ./services/notify/api).
type decoder struct {
	json jsontext.Decoder
	text bytes.Buffer
}

var decoders = sync.Pool{New: func() any { return new(decoder) }}

// A payload's content is between sender and receiver, duplicate names included. But it must be
// Unicode: bytes that are not UTF-8, and escapes of half a surrogate pair (\ud800), are no text
// that every receiver could read.
var lenient = jsontext.AllowDuplicateNames(true)

// decodeNotice reads one notice. Its payload shares memory with data.
func decodeNotice(data []byte) (*notice.Notice, error) {
	d := decoders.Get().(*decoder)
	defer func() {
		d.text = bytes.Buffer{} // releases the request's memory
		decoders.Put(d)
	}()
	d.text = *bytes.NewBuffer(data)
	d.json.Reset(&d.text, lenient)
	n := new(notice.Notice)
	if err := d.read(n); err != nil {
		return nil, err
	}
	if rest := data[d.json.InputOffset():]; len(bytes.TrimSpace(rest)) > 0 {
		return nil, refusal.New(http.StatusBadRequest, "text after the notice; for several notices send one a line as application/x-ndjson")
	}
	return n, nil
}

func (d *decoder) read(n *notice.Notice) error {
	if d.json.PeekKind() != '{' {
		return notNotice("", errors.New("it begins with no brace"))
	}
	_, err := d.json.ReadToken()
	for err == nil && d.json.PeekKind() != '}' {
		var name jsontext.Value // a token's String would be an allocation
		if name, err = d.json.ReadValue(); err != nil {
			break
		}
		switch string(name) {
		case `"id"`:
			err = d.string("id", &n.ID)
		case `"key"`:
			err = d.string("key", &n.Key)
		case `"type"`:
			err = d.string("type", &n.Type)
		case `"payload"`:
			var value jsontext.Value
			if value, err = d.json.ReadValue(); err != nil {
				return notNotice("payload", err)
			}
			n.Payload = []byte(value)
		default:
			field, _ := jsontext.AppendUnquote(nil, name)
			return refusal.Field(string(field), "not a notice {id, key, type, payload}: unknown field %s", name)
		}
	}
	if err == nil {
		_, err = d.json.ReadToken() // the closing brace
	}
	if r := (*refusal.Error)(nil); err == nil || errors.As(err, &r) {
		return err
	}
	return notNotice("", err)
}

// string reads a string; null leaves it empty.
func (d *decoder) string(field string, into *string) error {
	kind := d.json.PeekKind()
	if kind != '"' && kind != 'n' && kind != 0 {
		return refusal.Field(field, "not a notice {id, key, type, payload}: %s is no string", field)
	}
	t, err := d.json.ReadToken()
	if err != nil {
		return notNotice(field, err)
	}
	if kind == '"' {
		*into = t.String()
	}
	return nil
}

// notNotice refuses a text because of a field; "" means none.
func notNotice(field string, err error) error {
	if errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) {
		err = errors.New("it ends in the middle")
	}
	return refusal.Field(field, "not a notice {id, key, type, payload}: %v", err)
}
