// Package push holds the tests of a notification dispatcher's streams: server-sent events and
// WebSocket messages, by type, from now on or from a number, and refused to other sites' pages.
package push

import (
	"testing"

	"dyno/services/notify/notifytest"
)

// Test runs the tests of GET /v1/stream and GET /v1/ws.
func Test(t *testing.T, start notifytest.Start) {
	notifytest.Run(t, start, map[string]notifytest.Case{
		"streams from now on":        streams,
		"streams by type":            streamsByType,
		"resumes a stream":           resumes,
		"resumes after a restart":    resumesAfterRestart,
		"resumes from another log":   resumesElsewhere,
		"refuses bad streams":        refusesStreams,
		"refuses streams to pages":   refusesStreamsToPages,
		"sends over WebSocket":       sendsMessages,
		"resumes over WebSocket":     resumesMessages,
		"a stream ends at its close": endsStreams,
	})
}
