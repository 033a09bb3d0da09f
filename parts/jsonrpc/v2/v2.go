// Package v2 is the codec over github.com/go-json-experiment/json, which becomes encoding/json/v2.
// It reads a message once, token by token, as strictly as jsonrpc demands. A message with a
// duplicate name it reads again, to refuse the calls that have one. It starts no goroutines.
package v2

import (
	"bytes"
	"errors"
	"io"
	"sync"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
	jsonv1 "github.com/go-json-experiment/json/v1"

	"dyno/parts/jsonrpc"
)

// Codec implements jsonrpc.Codec.
type Codec struct{}

var _ jsonrpc.Codec = Codec{}

// decoder reads a message.
type decoder struct {
	json     jsontext.Decoder
	buffer   bytes.Buffer
	message  []byte
	lenient  bool // duplicate names are passed over, and found element by element
	maxCalls int
	elements int
	into     *jsonrpc.Batch
}

var decoders = sync.Pool{New: func() any { return new(decoder) }}

// Decode implements jsonrpc.Codec.
func (Codec) Decode(message []byte, maxCalls int, into *jsonrpc.Batch) *jsonrpc.Error {
	d := decoders.Get().(*decoder)
	d.message, d.maxCalls, d.into = message, maxCalls, into
	err := d.read(false)
	if errors.Is(err, jsontext.ErrDuplicateName) {
		into.Reset()
		err = d.read(true)
	}
	elements := d.elements
	d.message, d.into, d.buffer = nil, nil, bytes.Buffer{}
	decoders.Put(d)
	switch {
	case err != nil:
		return jsonrpc.NoJSON(err.Error())
	case jsonrpc.TooDeep(message):
		return jsonrpc.NoJSON("it is nested too deeply")
	}
	return into.Finish(elements, maxCalls)
}

func (d *decoder) read(lenient bool) error {
	d.buffer = *bytes.NewBuffer(d.message)
	d.json.Reset(&d.buffer, jsontext.AllowDuplicateNames(lenient))
	d.lenient, d.elements = lenient, 0
	if err := d.elementsOf(); err != nil {
		return err
	}
	if _, err := d.json.ReadToken(); err != io.EOF {
		return errors.Join(errors.New("text after the message"), err)
	}
	return nil
}

func (d *decoder) elementsOf() error {
	if d.json.PeekKind() != '[' {
		return d.element()
	}
	d.into.Array = true
	if _, err := d.json.ReadToken(); err != nil {
		return err
	}
	for d.json.PeekKind() != ']' {
		if err := d.element(); err != nil {
			return err
		}
	}
	_, err := d.json.ReadToken()
	return err
}

// element reads a call, or what is none.
func (d *decoder) element() error {
	var e jsonrpc.Envelope
	d.json.PeekKind()
	begin := d.json.InputOffset()
	if d.json.PeekKind() != '{' {
		e.NoObject = true
		if _, err := d.json.ReadValue(); err != nil {
			return err
		}
	} else if err := d.members(&e); err != nil {
		return err
	}
	if d.elements++; d.elements > d.maxCalls {
		return nil // refused when all have been read
	}
	if d.lenient {
		element := bytes.TrimLeft(d.message[begin:d.json.InputOffset()], ", \t\r\n")
		e.Duplicate = !jsontext.Value(element).IsValid()
	}
	d.into.Calls = append(d.into.Calls, e.Call())
	return nil
}

func (d *decoder) members(e *jsonrpc.Envelope) error {
	if _, err := d.json.ReadToken(); err != nil {
		return err
	}
	for d.json.PeekKind() != '}' {
		quoted, err := d.json.ReadValue() // a token's String would be an allocation
		if err != nil {
			return err
		}
		name := quoted[1 : len(quoted)-1]
		if bytes.IndexByte(name, '\\') >= 0 {
			name, _ = jsontext.AppendUnquote(nil, quoted) // it is valid
		}
		value, err := d.json.ReadValue()
		if err != nil {
			return err
		}
		end := d.json.InputOffset()
		e.Set(name, d.message[end-int64(len(value)):end])
	}
	_, err := d.json.ReadToken()
	return err
}

// asV1 makes values look as encoding/json writes them.
var asV1 = json.JoinOptions(jsonv1.DefaultOptionsV1(), jsontext.EscapeForHTML(false))

// AppendValue implements jsonrpc.Codec.
func (Codec) AppendValue(to []byte, value any) ([]byte, error) {
	out := bytes.NewBuffer(to)
	if err := json.MarshalWrite(out, value, asV1); err != nil {
		return to, err
	}
	return out.Bytes(), nil
}
