package nethttp

import (
	"errors"
	"strings"

	"dyno/lab/load"
)

// StatusOf returns the status for a client's error. An error that comes neither from the network
// nor from the timeout means that the answer broke the protocol. The few exceptions have no type
// of their own and are recognized by their text.
func StatusOf(err error) load.Status {
	var handshake *handshakeError
	switch status := load.StatusOf(err); {
	case status == load.Timeout:
		return status
	case errors.As(err, &handshake):
		return load.Connect
	case status != load.Other:
		return status
	}
	for _, w := range wordings {
		if strings.Contains(err.Error(), w.part) {
			return w.status
		}
	}
	return load.Malformed
}

var wordings = []struct {
	part   string
	status load.Status
}{
	{"server closed idle connection", load.Closed},
	{"unexpected EOF reading trailer", load.Closed},
	{"client connection lost", load.Closed},
	{"client conn is closed", load.Closed},
	{"GOAWAY", load.Closed},
	{"stream error", load.Reset},
	{"could not negotiate protocol", load.Connect},
}
