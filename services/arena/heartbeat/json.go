package heartbeat

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strconv"
)

// asked and answered are the JSON of a request and of its answer.
type asked struct {
	PlayerID any `json:"player_id"`
}

type answered struct {
	ServerMs int64 `json:"server_ms"`
}

// decode reads a request with encoding/json, and returns the player's id: a string, or a number as
// it is written. It decides what is a request.
func decode(body *bytes.Reader, in *asked) (string, error) {
	d := json.NewDecoder(body)
	d.DisallowUnknownFields()
	d.UseNumber()
	err := d.Decode(in)
	if errors.Is(err, io.EOF) {
		return "", errors.New("it is empty")
	}
	if err != nil {
		return "", err
	}
	if _, err := d.Token(); !errors.Is(err, io.EOF) {
		return "", errors.New("there is more after it")
	}
	var id string
	switch given := in.PlayerID.(type) {
	case string:
		id = given
	case json.Number:
		id = given.String()
	default:
		return "", errors.New("player_id is missing, or neither a string nor a number")
	}
	if len(id) == 0 || len(id) > maxID {
		return "", fmt.Errorf("player_id has %d bytes; it may have 1 to %d", len(id), maxID)
	}
	return id, nil
}

// refusal is the text of an error.
func refusal(why error) string { return "the body is not the JSON of this request: " + why.Error() }

// appendError writes an error's JSON.
func appendError(to []byte, text string) []byte {
	quoted, err := json.Marshal(text)
	if err != nil {
		quoted = []byte(`"the error is no JSON"`)
	}
	return append(append(append(to, `{"error":`...), quoted...), '}', '\n')
}

// codec reads requests and writes answers. An id is valid as long as the body and the call.
type codec interface {
	id(c *call, body []byte) ([]byte, error)
	answer(c *call, ms int64)
}

// library is encoding/json, with what of it can be used again.
type library struct{}

func (library) id(c *call, body []byte) ([]byte, error) {
	c.body.Reset(body)
	id, err := decode(&c.body, &c.asked)
	return []byte(id), err
}

func (library) answer(c *call, ms int64) {
	c.answered.ServerMs = ms
	_ = c.encoder.Encode(&c.answered) // into c.out, which takes all
}

// byHand reads what clients send by hand, and leaves any other form to encoding/json.
type byHand struct{}

func (byHand) id(c *call, body []byte) ([]byte, error) {
	if id, ok := scan(body); ok {
		return id, nil
	}
	return library{}.id(c, body)
}

func (byHand) answer(c *call, ms int64) {
	c.out = strconv.AppendInt(append(c.out, `{"server_ms":`...), ms, 10)
	c.out = append(c.out, '}', '\n')
}

// scan finds the id in a body such as {"player_id":"ada"} or {"player_id":7}: printable ASCII
// without a backslash, or digits. False: the body has another form, and is perhaps no request.
func scan(body []byte) ([]byte, bool) {
	rest, ok := after(body, "{")
	if ok {
		rest, ok = after(rest, `"player_id"`)
	}
	if ok {
		rest, ok = after(rest, ":")
	}
	if rest = trim(rest); !ok || len(rest) == 0 {
		return nil, false
	}
	var id []byte
	if rest[0] == '"' {
		n := run(rest[1:], func(c byte) bool { return c >= ' ' && c <= '~' && c != '"' && c != '\\' })
		id, rest = rest[1:1+n], rest[1+n:]
		if ok = len(rest) > 0 && rest[0] == '"'; ok {
			rest = rest[1:]
		}
	} else {
		n := run(rest, func(c byte) bool { return c >= '0' && c <= '9' })
		id, rest = rest[:n], rest[n:]
		ok = n == 1 || n > 1 && id[0] != '0'
	}
	if ok {
		rest, ok = after(rest, "}")
	}
	return id, ok && len(trim(rest)) == 0 && len(id) > 0 && len(id) <= maxID
}

// after passes white space and a token.
func after(b []byte, token string) ([]byte, bool) {
	b = trim(b)
	if len(b) < len(token) || string(b[:len(token)]) != token {
		return nil, false
	}
	return b[len(token):], true
}

func trim(b []byte) []byte {
	return b[run(b, func(c byte) bool { return c == ' ' || c == '\t' || c == '\r' || c == '\n' }):]
}

// run is the length of the bytes at the beginning that are of a kind.
func run(b []byte, is func(byte) bool) (n int) {
	for n < len(b) && is(b[n]) {
		n++
	}
	return n
}
