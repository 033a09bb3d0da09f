// Package push streams notices to clients that hold a connection open: server-sent events and WebSocket.
// A client resumes where it was by the number of the last notice it has seen.
//
// Nothing is buffered for a slow reader: each stream reads the log at its own pace, and one that falls
// behind what the log keeps is told which numbers it missed. It is not for confirmed delivery: what a
// client does with a notice is not known here.
//
// A stream's goroutine is the request's, and ends with it or when the source closes.
package push

import "time"

// Source is the log of notices as streams see it.
type Source interface {
	// Scan visits notices from number from on, in order, until there are no more or visit returns an
	// error. first > from says that those before first are no longer kept, and that the visits began
	// there.
	Scan(from uint64, visit func(Notice) error) (first uint64, err error)
	// Bounds returns the first number kept and the next to be given.
	Bounds() (first, next uint64)
	// Wait returns a channel that is closed when there is a notice with number next or the source closes
	// (ok is false when it has closed already).
	Wait(next uint64) (more <-chan struct{}, ok bool)
}

// Notice is what a stream carries. It is valid during the visit only.
type Notice struct {
	Seq      uint64
	Type     string
	Envelope []byte // {"type":..,"timestamp":..,"data":{"id":..,"key":..,"payload":..}}: the body of its webhook
	Accepted time.Time
}
