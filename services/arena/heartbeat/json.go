package heartbeat

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
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
