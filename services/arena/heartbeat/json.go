package heartbeat

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strconv"
)

const maxID = 64 // bytes of a player's id

// decode reads a request with encoding/json, and returns the player's id: a string, or a number as
// it is written. It decides what is a request.
func decode(body []byte) (string, error) {
	var in struct {
		PlayerID any `json:"player_id"`
	}
	d := json.NewDecoder(bytes.NewReader(body))
	d.DisallowUnknownFields()
	d.UseNumber()
	err := d.Decode(&in)
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

// byLibrary reads a request with encoding/json.
func byLibrary(body []byte) ([]byte, error) {
	id, err := decode(body)
	return []byte(id), err
}

// byHand reads what clients send by hand, and leaves any other form to encoding/json. The id is
// valid as long as the body.
func byHand(body []byte) ([]byte, error) {
	if id, ok := scan(body); ok {
		return id, nil
	}
	return byLibrary(body)
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

// refusal is the text of an error.
func refusal(why error) string { return "the body is not the JSON of this request: " + why.Error() }

// appendAnswer and appendError write JSON by hand.
func appendAnswer(to []byte, ms int64) []byte {
	to = strconv.AppendInt(append(to, `{"server_ms":`...), ms, 10)
	return append(to, '}', '\n')
}

func appendError(to []byte, text string) []byte {
	quoted, err := json.Marshal(text)
	if err != nil {
		quoted = []byte(`"the error is no JSON"`)
	}
	return append(append(append(to, `{"error":`...), quoted...), '}', '\n')
}
