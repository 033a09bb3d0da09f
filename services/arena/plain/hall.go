package main

import (
	"crypto/rand"
	"fmt"
	"sync"
	"sync/atomic"

	"dyno/services/arena/game"
)

const (
	maxRooms   = 100
	maxPlayers = 50 // of a room, unless it was made with another number
)

// hall is the rooms.
type hall struct {
	connections atomic.Int64
	tasks       sync.WaitGroup // of rooms and connections
	ending      chan struct{}

	mu    sync.Mutex
	rooms map[string]*room
	order []string // of the rooms' ids
}

func newHall() *hall { return &hall{rooms: map[string]*room{}, ending: make(chan struct{})} }

func (h *hall) close() {
	close(h.ending)
	h.tasks.Wait()
}

// options are what POST /v1/rooms takes.
type options struct {
	Capacity int    `json:"capacity"`
	Bots     int    `json:"bots"`
	Seed     uint64 `json:"seed"`
}

func (h *hall) create(o options) (string, error) {
	if o.Capacity < 1 || o.Capacity > game.MaxPlayers || o.Bots < 0 || o.Bots > o.Capacity {
		return "", fmt.Errorf("a room has a capacity of 1 to %d, and not more bots than that", game.MaxPlayers)
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.add(o)
}

func (h *hall) add(o options) (string, error) {
	if len(h.order) >= maxRooms {
		return "", fmt.Errorf("there are %d rooms already", maxRooms)
	}
	r := newRoom(rand.Text()[:8], o)
	h.rooms[r.id], h.order = r, append(h.order, r.id)
	h.tasks.Go(func() { r.run(h.ending) })
	return r.id, nil
}

// list is the answer of GET /v1/rooms.
func (h *hall) list() []map[string]any {
	h.mu.Lock()
	defer h.mu.Unlock()
	out := []map[string]any{}
	for _, id := range h.order {
		out = append(out, h.rooms[id].listed())
	}
	return out
}

// enter finds the room of a join, and joins it.
func (h *hall) enter(c *client, id, resume string, spectate bool) (*room, *refusal) {
	h.mu.Lock()
	defer h.mu.Unlock()
	ids := h.order
	if id != "" {
		if h.rooms[id] == nil {
			return nil, &refusal{"no_such_room", "there is no such room"}
		}
		ids = []string{id}
	}
	for _, id := range ids {
		if r := h.rooms[id]; resume != "" && r.resume(c, resume) || resume == "" && r.join(c, spectate) {
			return r, nil
		}
	}
	if resume != "" {
		return nil, &refusal{"bad_resume", "the token is not known, or was used"}
	}
	if id == "" {
		id, _ = h.add(options{Capacity: maxPlayers, Seed: 1})
	}
	if r := h.rooms[id]; r != nil && r.join(c, spectate) {
		return r, nil
	}
	return nil, &refusal{"room_full", "the room has no place"}
}
