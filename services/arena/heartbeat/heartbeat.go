// Package heartbeat answers POST /api/heartbeat {"player_id"} with the server's time, and knows
// which players were heard within Window. Its seam beat, which reads and answers a request, has the
// ways in which such an endpoint is said to become fast, so that scenarios/arena-heartbeat.yaml can
// show which of them do: std, pooled, hand, workers, loop.
//
// It is not for players in a room, whose heartbeat is a Ping on their WebSocket, nor for who a
// player is: an id is what the request says.
//
// New starts the workers of beat "workers", which Close ends and waits for; Run forgets players,
// on its caller's goroutine; a Front owns the goroutine of its event loop, until Drain.
package heartbeat

import (
	"context"
	"net/http"
	"sync"
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
	Beat       string `seam:"beat"`
	MaxPresent int    `set:"max_present" default:"100000" min:"1" max:"10000000" doc:"players whose heartbeats are remembered; those of further ones are answered, and counted only"`

	// Poison overwrites what a pool takes back, so that a test sees whatever still reads it.
	Poison bool
}

// Heartbeat answers heartbeats. New makes one.
type Heartbeat struct {
	players *presence
	beyond  atomic.Int64
	serve   http.HandlerFunc
	id      func(body []byte) ([]byte, error) // of a request's player
	work    func(*call)                       // of pooled
	calls   calls

	queue   chan *call // to the workers
	workers sync.WaitGroup
	ended   chan struct{}
}

// New makes a Heartbeat, and starts its workers if it has any. An empty name means the first.
func New(c Config) *Heartbeat {
	h := &Heartbeat{players: newPresence(c.MaxPresent), id: byHand, calls: calls{poison: c.Poison}}
	h.queue, h.ended = make(chan *call), make(chan struct{})
	h.serve, h.work = h.pooled, h.exchange
	switch c.Beat {
	case "", "std":
		h.serve = h.std
	case "pooled":
		h.id = byLibrary
	case "workers":
		h.work = h.submit
		h.start()
	}
	return h
}

// ServeHTTP answers a request.
func (h *Heartbeat) ServeHTTP(w http.ResponseWriter, r *http.Request) { h.serve(w, r) }

// heard remembers that a player is there, and returns the time in milliseconds since 1970.
func (h *Heartbeat) heard(id []byte) int64 {
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

// Close ends the workers. Requests that still wait for one are refused.
func (h *Heartbeat) Close() {
	close(h.ended)
	h.workers.Wait()
}
