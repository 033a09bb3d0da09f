package arena

import (
	"context"
	"crypto/rand"
	"fmt"
	"log/slog"
	"strings"
	"sync"

	"dyno/services/arena/game"
	"dyno/services/arena/match"
	"dyno/services/arena/room"
)

const (
	maxRooms        = 1000
	maxBots         = 5000 // of all rooms: they take CPU time, with players or without
	defaultCapacity = 50   // players
)

// lobby is the rooms that run here.
type lobby struct {
	config  Config
	stats   *room.Stats
	log     *slog.Logger
	record  func(id string, o room.Options) (room.Recorder, error)
	changed func() // rooms, or who is in them
	ending  context.Context
	end     context.CancelFunc
	running sync.WaitGroup

	mu    sync.Mutex
	rooms map[string]*room.Room
	order []string // of the rooms' ids
	bots  int      // of the rooms, as they were asked for
}

func newLobby(c Config, stats *room.Stats, log *slog.Logger) *lobby {
	l := &lobby{config: c, stats: stats, log: log, changed: func() {}, rooms: map[string]*room.Room{}}
	l.ending, l.end = context.WithCancel(context.Background())
	return l
}

// close ends all rooms.
func (l *lobby) close() {
	l.end()
	l.running.Wait()
}

// asked is what POST /v1/rooms takes.
type asked struct {
	Capacity int    `json:"capacity"`
	Bots     int    `json:"bots"`
	Seed     uint64 `json:"seed"`
	Record   bool   `json:"record"`
}

// create makes a room that runs.
func (l *lobby) create(a asked) (*room.Room, error) {
	if a.Capacity < 1 || a.Capacity > game.MaxPlayers || a.Bots < 0 || a.Bots > a.Capacity {
		return nil, fmt.Errorf("a room has a capacity of 1 to %d, and not more bots than that", game.MaxPlayers)
	}
	if err := l.takes(a.Bots); err != nil {
		return nil, err
	}
	defer l.changed()
	id := strings.ToLower(rand.Text()[:8])
	o := room.Options{Capacity: a.Capacity, Bots: a.Bots, Seed: a.Seed}
	if a.Record { // which waits for the disk
		var err error
		if o.Recorder, err = l.record(id, o); err != nil {
			return nil, fmt.Errorf("the room cannot be recorded: %w", err)
		}
	}
	r := room.New(id, o, l.config.Config, l.stats, l.log)
	if err := l.add(r, a.Bots); err != nil {
		r.Close()
		return nil, err
	}
	return r, nil
}

// errTooMany is an error of the server, not of the request.
type errTooMany struct{ text string }

func (e errTooMany) Error() string { return e.text }

// takes returns why there is no place for a room with bots.
func (l *lobby) takes(bots int) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.full(bots)
}

// full is takes, for a caller that holds the lock.
func (l *lobby) full(bots int) error {
	switch {
	case l.ending.Err() != nil:
		return errTooMany{"the server stops"}
	case len(l.order) >= maxRooms:
		return errTooMany{fmt.Sprintf("there are %d rooms already; those without a player end after 5 minutes", maxRooms)}
	case l.bots+bots > maxBots:
		return errTooMany{fmt.Sprintf("the rooms have %d bots already, of at most %d; rooms without a player end after 5 minutes", l.bots, maxBots)}
	}
	return nil
}

// add has a room run, unless there is no place for it and its bots.
func (l *lobby) add(r *room.Room, bots int) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	if err := l.full(bots); err != nil {
		return err
	}
	l.rooms[r.ID], l.order, l.bots = r, append(l.order, r.ID), l.bots+bots
	l.running.Go(func() { l.run(r, bots) })
	return nil
}

// run takes a room's ticks until it ends.
func (l *lobby) run(r *room.Room, bots int) {
	r.Run(l.ending)
	r.Close()
	l.remove(r.ID, bots)
	l.changed()
}

func (l *lobby) remove(id string, bots int) {
	l.mu.Lock()
	defer l.mu.Unlock()
	delete(l.rooms, id)
	l.bots -= bots
	kept := l.order[:0]
	for _, other := range l.order {
		if other != id {
			kept = append(kept, other)
		}
	}
	l.order = kept
}

// room returns a room; nil: there is none of this id.
func (l *lobby) room(id string) *room.Room {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.rooms[id]
}

// all returns the rooms in the order in which they were made.
func (l *lobby) all() (rooms []*room.Room) {
	l.mu.Lock()
	defer l.mu.Unlock()
	for _, id := range l.order {
		rooms = append(rooms, l.rooms[id])
	}
	return rooms
}

// enter has a client join a room: that of the id, or any that takes it, which is made if there is
// none.
func (l *lobby) enter(id string, join func(*room.Room) error) (*room.Room, error) {
	if id != "" {
		r := l.room(id)
		if r == nil {
			return nil, room.ErrNoRoom
		}
		return r, join(r)
	}
	for _, r := range l.all() {
		if join(r) == nil {
			return r, nil
		}
	}
	r, err := l.create(asked{Capacity: defaultCapacity, Seed: rand64()})
	if err != nil {
		return nil, room.ErrFull
	}
	return r, join(r)
}

// claim gives a client the place that is held under a token; nil: there is none.
func (l *lobby) claim(c *room.Client, id, token string, access func(match.Player) room.Access) *room.Room {
	for _, r := range l.all() {
		if (id == "" || r.ID == id) && r.Claim(c, token, access) == nil {
			return r
		}
	}
	return nil
}

// Open, Create and Reserve let the matchmaker use the rooms.
func (l *lobby) Open() (open []match.Room) {
	for _, r := range l.all() {
		open = append(open, r.Open())
	}
	return open
}

func (l *lobby) Create(context.Context, int) (string, error) {
	r, err := l.create(asked{Capacity: defaultCapacity, Seed: rand64()})
	if err != nil {
		return "", err
	}
	return r.ID, nil
}

func (l *lobby) Reserve(_ context.Context, id string, p match.Player) (match.Place, error) {
	r := l.room(id)
	if r == nil {
		return match.Place{}, room.ErrNoRoom
	}
	token, ok := r.Hold(p)
	if !ok {
		return match.Place{}, room.ErrFull
	}
	return match.Place{Room: id, Token: token}, nil
}

// resume gives a client the body of a lost one.
func (l *lobby) resume(c *room.Client, token string) (*room.Room, error) {
	r := l.room(room.RoomOf(token))
	if r == nil {
		return nil, room.ErrResume
	}
	return r, r.Resume(c, token)
}
