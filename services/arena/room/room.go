// Package room is a room of arenad: a world of package game, the players and spectators in it, and
// what they are sent. A Room takes a tick 30 times a second (Run): it applies the players' commands
// in the order of their ids, ends the tick, and writes the state to each client in one write.
//
// A client that reads slowly never waits in a queue: it has at most one write under way, and then
// receives the newest state. What it has is known, since a WebSocket is ordered; deltas start from
// there.
//
// It is not for which rooms there are, for sockets, nor for what a message of a client asks: the
// caller reads those and calls Join, Input, Say and Leave, from any goroutine. The room's goroutine
// is the caller of Run; a Client whose connection cannot be written without waiting has a goroutine
// of its own, which Client.End waits for.
package room

import (
	"cmp"
	"errors"
	"log/slog"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"dyno/services/arena/delta"
	"dyno/services/arena/game"
	"dyno/services/arena/match"
	"dyno/services/arena/wire"
)

const (
	ahead      = 8                // commands that a player may be ahead of the time
	maxPerTick = 2 * game.PerTick // commands of a player in a tick
	keptBody   = 30 * game.Hz     // ticks, after its socket was lost
	maxIdle    = 300 * game.Hz    // ticks without a client, after which a room ends
	maxWatch   = 1000             // spectators
	maxSaid    = 32               // events of clients in a tick: each goes to all
)

// Errors of joining, by their codes on the wire.
var (
	ErrFull   = errors.New("room_full")
	ErrNoRoom = errors.New("no_such_room")
	ErrResume = errors.New("bad_resume")
)

// Options are of a room.
type Options struct {
	Capacity int    // players, with the bots
	Bots     int    // players that the room plays, while there is place for them
	Seed     uint64 // of the world
	Recorder Recorder
}

// Recorder receives what happens to the world, in its order. It does not wait for a disk.
type Recorder interface {
	Join(id uint32)
	Leave(id uint32)
	Apply(id uint32, c game.Command)
	Bot(id uint32) // does the command that game.World.Bot returns
	Step(hash uint64)
	Close() error
}

// Config is what rooms are assembled from.
type Config struct {
	State    string `seam:"state"`
	Write    string `seam:"write"`
	Read     string `seam:"read"`
	Interest int    `set:"interest" default:"0" min:"0" max:"2000" doc:"how far players see in arena.v1.bits, in units of the world; 0: all of it. A player in sight is in the state, others are not; spectators see all. The state of each player is then encoded on its own"`
}

// Room is a room that runs.
type Room struct {
	ID      string
	options Options
	config  Config
	stats   *Stats
	log     *slog.Logger
	now     atomic.Uint32

	seats *match.Seats // of all players but bots, which make room

	mu      sync.Mutex
	ended   bool
	idle    int // ticks without a client
	said    int // events of clients since the last tick
	world   *game.World
	players []*player // in order of their ids
	watch   map[*Client]bool
	polled  []*Client // have a Reader
	history history
	poller  poller // of the goroutine that takes the ticks
	view    view
}

// New makes a room, which Run runs.
func New(id string, o Options, c Config, stats *Stats, log *slog.Logger) *Room {
	r := &Room{ID: id, options: o, config: c, stats: stats, log: log, world: game.New(o.Seed), seats: match.NewSeats(o.Capacity, nil), watch: map[*Client]bool{}}
	r.fill()
	return r
}

// Info is what others may know of a room.
type Info struct {
	ID         string `json:"id"`
	Players    int    `json:"players"`
	Capacity   int    `json:"capacity"`
	Tick       uint32 `json:"tick"`
	Hz         int    `json:"hz"`
	Spectators int    `json:"spectators"`
}

// Info returns what others may know of the room.
func (r *Room) Info() Info {
	r.mu.Lock()
	defer r.mu.Unlock()
	return Info{r.ID, len(r.players), r.options.Capacity, r.world.Tick(), game.Hz, len(r.watch)}
}

// Tick is the number of the last tick.
func (r *Room) Tick() uint32 { return r.now.Load() }

// State returns a copy of the state at a tick of the last 10 s; 0: the newest.
func (r *Room) State(tick uint32) (delta.State, bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if tick == 0 {
		tick = r.world.Tick()
	}
	return r.history.find(tick)
}

// Open returns what a matchmaker must know of the room.
func (r *Room) Open() match.Room { return r.seats.Room(r.ID) }

// Hold holds a place for a player, which joins with the token.
func (r *Room) Hold(p match.Player) (token string, ok bool) { return r.seats.Hold(p) }

// Forget gives back the places that are held.
func (r *Room) Forget() { r.seats.Forget() }

func (r *Room) bots() (n int) {
	for _, p := range r.players {
		if p.bot {
			n++
		}
	}
	return n
}

// Watch adds a client as a spectator, and welcomes it.
func (r *Room) Watch(c *Client) error {
	r.mu.Lock()
	defer r.mu.Unlock()
	switch {
	case r.ended:
		return ErrNoRoom
	case len(r.watch) >= maxWatch:
		return ErrFull
	}
	r.watch[c] = true
	r.welcome(c, &player{})
	return nil
}

// Claim adds a client as the player that a place is held for, and welcomes it; access returns what
// lets that player in. ErrFull: there is no place under this token, or no longer.
func (r *Room) Claim(c *Client, token string, access func(match.Player) Access) error {
	seat, ok := r.seats.Claim(token)
	if !ok {
		if r.Resume(c, token) == nil { // its Welcome was lost
			return nil
		}
		return ErrFull
	}
	c.Access = access(seat.Player)
	return r.seat(c, seat, "", token)
}

// Join adds a client as a player, and welcomes it.
func (r *Room) Join(c *Client, name string) error {
	seat, ok := r.seats.Take()
	if !ok {
		return ErrFull
	}
	return r.seat(c, seat, name, "")
}

// seat adds a client as a player, which may come back with the token that it has come with.
func (r *Room) seat(c *Client, seat *match.Seat, name, token string) error {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.ended {
		return ErrNoRoom
	}
	if len(r.players) >= r.options.Capacity {
		r.dropBot()
	}
	p := r.add(false)
	p.name, p.seat, p.access = cmp.Or(seat.Player.Name, name), seat, c.Access
	p.tokens.proven = token
	p.begin(c)
	r.welcome(c, p)
	r.announce(nameEvent(p))
	return nil
}

func (r *Room) welcome(c *Client, p *player) {
	r.idle = 0
	c.player = p
	resume := ""
	if p.id != 0 {
		resume = p.tokens.issue(r.ID)
		c.welcomed.Store(r.world.Tick())
		c.unproven.Store(true)
	}
	c.event(&wire.ServerFrame{Body: &wire.ServerFrame_Welcome{Welcome: &wire.Welcome{
		EntityId: p.id, Room: r.ID, Resume: resume, Tick: r.world.Tick(), TickHz: game.Hz, World: game.Size, Scale: game.Scale, TopSpeed: game.TopSpeed,
	}}})
	for _, e := range r.world.Pickups() {
		c.event(gameEvent(e))
	}
	for _, other := range r.players {
		if other.name != "" {
			c.event(nameEvent(other))
		}
	}
	c.flush()
}

// Leave ends a client's presence; its body stays for a while unless it leaves for good.
func (r *Room) Leave(c *Client, forGood bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	delete(r.watch, c)
	p := c.player
	if p == nil || p.client != c {
		return
	}
	p.client, p.lost = nil, r.world.Tick()
	if forGood {
		r.remove(p)
	}
}

// add adds a player to the world.
func (r *Room) add(bot bool) *player {
	p := &player{id: r.world.Join(), bot: bot}
	at, _ := slices.BinarySearchFunc(r.players, p.id, func(p *player, id uint32) int { return int(p.id) - int(id) })
	r.players = slices.Insert(r.players, at, p)
	if r.options.Recorder != nil {
		r.options.Recorder.Join(p.id)
	}
	return p
}

func (r *Room) remove(p *player) {
	r.world.Leave(p.id)
	r.players = slices.DeleteFunc(r.players, func(other *player) bool { return other == p })
	if r.options.Recorder != nil {
		r.options.Recorder.Leave(p.id)
	}
	if !p.bot {
		p.seat.Leave()
		r.fill()
	}
}

// fill adds bots while there should be more and there is place.
func (r *Room) fill() {
	for n := r.bots(); n < r.options.Bots && len(r.players) < r.options.Capacity; n++ {
		r.announce(nameEvent(r.add(true))) // of none: the id may have had one
	}
}

// dropBot removes a bot, to give its place to a player that has a seat.
func (r *Room) dropBot() {
	for _, p := range slices.Backward(r.players) {
		if p.bot {
			r.remove(p)
			return
		}
	}
}

// Say shows an event of a client to all in the room: actions of the game are the room's own.
func (r *Room) Say(c *Client, e *wire.GameEvent) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if e.ActionType < wire.ActionChat || len(e.Payload) > wire.MaxChat || c.player == nil || r.said == maxSaid {
		r.stats.Reject(ReasonEvent)
		return
	}
	r.said++
	r.announce(event(e.ActionType, c.player.id, e.Payload))
}

// Announce shows an event of an action to all in the room.
func (r *Room) Announce(action uint32, payload []byte) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.announce(event(action, 0, payload))
}

// Names returns the names of the players.
func (r *Room) Names() (names []string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, p := range r.players {
		if p.name != "" {
			names = append(names, p.name)
		}
	}
	return names
}

// announce shows an event to all, in the write of the next state.
func (r *Room) announce(f *wire.ServerFrame) {
	message := marshal(f)
	r.each(func(c *Client, _ uint32) { c.message(message) })
}

// each calls a function for each client, with what it has acknowledged.
func (r *Room) each(do func(c *Client, acked uint32)) {
	for _, p := range r.players {
		if p.client != nil {
			do(p.client, p.done)
		}
	}
	for c := range r.watch {
		do(c, 0)
	}
}

func event(action, id uint32, payload []byte) *wire.ServerFrame {
	return &wire.ServerFrame{Body: &wire.ServerFrame_Event{Event: &wire.GameEvent{
		TimestampMs: uint64(time.Now().UnixMilli()), EntityId: id, ActionType: action, Payload: payload,
	}}}
}

func gameEvent(e game.Event) *wire.ServerFrame {
	return event(uint32(e.Kind), e.Player, wire.Place(e.Other, e.X, e.Y))
}

func nameEvent(p *player) *wire.ServerFrame { return event(wire.ActionName, p.id, []byte(p.name)) }
