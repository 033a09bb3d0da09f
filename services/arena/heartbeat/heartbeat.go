// Package heartbeat answers POST /api/heartbeat {"player_id"} with the server's time, and knows
// which players were heard within Window.
//
// It is not for players in a room, whose heartbeat is a Ping on their WebSocket, nor for who a
// player is: an id is what the request says.
//
// It starts no goroutines: Run forgets players on its caller's.
package heartbeat

import (
	"context"
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"sync/atomic"
	"time"
)

const (
	// Window is how long a player is present after a heartbeat.
	Window = 30 * time.Second

	sweep   = 5 * time.Second // between removals of players that are no longer present
	maxBody = 4 << 10         // bytes of a request
)

// Config is what a Heartbeat is assembled from.
type Config struct {
	MaxPresent int `set:"max_present" default:"100000" min:"1" max:"10000000" doc:"players whose heartbeats over HTTP are remembered; those of further ones are answered, and counted only"`
}

// Heartbeat answers heartbeats. New makes one.
type Heartbeat struct {
	players *presence
	beyond  atomic.Int64
}

// New makes a Heartbeat.
func New(c Config) *Heartbeat { return &Heartbeat{players: newPresence(c.MaxPresent)} }

// ServeHTTP answers a request.
func (h *Heartbeat) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	w.Header().Set("Content-Type", "application/json")
	refuse := func(status int, err error) {
		w.WriteHeader(status)
		_ = json.NewEncoder(w).Encode(map[string]string{"error": "the body is not the JSON of this request: " + err.Error()})
	}
	body, err := io.ReadAll(http.MaxBytesReader(w, r.Body, maxBody))
	if large := (*http.MaxBytesError)(nil); errors.As(err, &large) {
		refuse(http.StatusRequestEntityTooLarge, err)
		return
	}
	var id string
	if err == nil {
		id, err = decode(body)
	}
	if err != nil {
		refuse(http.StatusBadRequest, err)
		return
	}
	_ = json.NewEncoder(w).Encode(map[string]int64{"server_ms": h.Heard([]byte(id))}) // an error means that the client has gone
}

// Heard remembers that a player is there, and returns the time in milliseconds since 1970. It keeps
// a copy of the id.
func (h *Heartbeat) Heard(id []byte) int64 {
	now := time.Now().UnixMilli()
	if !h.players.heard(id, now) {
		h.beyond.Add(1)
	}
	return now
}

// Present is the number of players that were heard within Window.
func (h *Heartbeat) Present() int { return h.players.count(horizon()) }

// Beyond is the number of heartbeats of players that were one too many to be remembered.
func (h *Heartbeat) Beyond() int64 { return h.beyond.Load() }

func horizon() int64 { return time.Now().Add(-Window).UnixMilli() }

// Run forgets players that are no longer present, until ctx ends.
func (h *Heartbeat) Run(ctx context.Context) {
	ticks := time.NewTicker(sweep)
	defer ticks.Stop()
	for {
		select {
		case <-ticks.C:
			h.players.expire(horizon())
		case <-ctx.Done():
			return
		}
	}
}
