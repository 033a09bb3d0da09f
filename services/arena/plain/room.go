package main

import (
	"crypto/rand"
	"maps"
	"slices"
	"sync"
	"time"

	"google.golang.org/protobuf/proto"

	"dyno/services/arena/game"
	"dyno/services/arena/wire"
)

const (
	ahead      = 8                // commands that a player may be ahead of the time
	maxPerTick = 2 * game.PerTick // commands of a player in a tick
	keptBody   = 30 * time.Second // after its socket was lost
	interval   = time.Second / game.Hz
)

// room is a world, and the clients in it.
type room struct {
	id       string
	capacity int

	mu         sync.Mutex
	world      *game.World
	players    map[uint32]*player
	spectators map[*client]bool
}

// player is a body in the room.
type player struct {
	id       uint32
	client   *client // nil: the socket was lost, or it is a bot
	bot      bool
	resume   string
	lost     time.Time
	credit   int
	seen     uint32 // the highest sequence number of its commands
	done     uint32 // of those that are applied
	commands []*wire.Command
}

func newRoom(id string, o options) *room {
	r := &room{id: id, capacity: o.Capacity, world: game.New(o.Seed), players: map[uint32]*player{}, spectators: map[*client]bool{}}
	for range o.Bots {
		id := r.world.Join()
		r.players[id] = &player{id: id, bot: true}
	}
	return r
}

func (r *room) listed() map[string]any {
	r.mu.Lock()
	defer r.mu.Unlock()
	return map[string]any{"id": r.id, "players": len(r.players), "capacity": r.capacity, "tick": r.world.Tick(), "hz": game.Hz, "spectators": len(r.spectators)}
}

// run takes ticks at fixed times until ending is closed.
func (r *room) run(ending <-chan struct{}) {
	for next := time.Now().Add(interval); ; next = next.Add(interval) {
		select {
		case <-time.After(time.Until(next)):
			r.tick()
		case <-ending:
			return
		}
	}
}

// tick applies the commands, ends the tick and shows the state to all.
func (r *room) tick() {
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, id := range slices.Sorted(maps.Keys(r.players)) {
		switch p := r.players[id]; {
		case p.bot:
			for range game.PerTick {
				r.world.Apply(id, r.world.Bot(id))
			}
		case p.client == nil && time.Since(p.lost) > keptBody:
			r.remove(p)
		default:
			r.obey(p)
		}
	}
	r.world.Step()
	r.show()
}

func (r *room) obey(p *player) {
	n := min(len(p.commands), maxPerTick)
	for _, c := range p.commands[:n] {
		r.world.Apply(p.id, game.Command{Buttons: c.Buttons, Aim: c.Aim, ViewTick: c.ViewTick})
		p.done = c.Seq
	}
	p.commands = slices.Delete(p.commands, 0, n)
	if len(p.commands) == 0 {
		p.done = p.seen
	}
	p.credit = min(p.credit+game.PerTick, ahead+game.PerTick)
}

// show sends the state to all, and what has happened.
func (r *room) show() {
	entities := r.world.Entities(nil)
	s := &wire.Snapshot{Tick: r.world.Tick(), Hash: game.Hash(entities)}
	for _, e := range entities {
		s.Entities = append(s.Entities, &wire.Entity{Id: e.ID, X: e.X, Y: e.Y, Dir: e.Dir, Hp: e.HP, Score: e.Score})
	}
	var events [][]byte
	for _, e := range r.world.Events() {
		events = append(events, event(e))
	}
	frame := func(acked uint32) []byte {
		s.AckedSeq = acked
		return marshal(&wire.ServerFrame{Body: &wire.ServerFrame_Snapshot{Snapshot: s}})
	}
	for _, p := range r.players {
		if p.client != nil {
			p.client.offer(frame(p.done), events...)
		}
	}
	watched := frame(0)
	for c := range r.spectators {
		c.offer(watched, events...)
	}
}

func marshal(f *wire.ServerFrame) []byte {
	out, err := proto.Marshal(f)
	if err != nil {
		panic(err) // a string that is not UTF-8: there is none
	}
	return out
}

// event says an event of the game.
func event(e game.Event) []byte {
	return marshal(&wire.ServerFrame{Body: &wire.ServerFrame_Event{Event: &wire.GameEvent{
		TimestampMs: uint64(time.Now().UnixMilli()), EntityId: e.Player, ActionType: uint32(e.Kind), Payload: wire.Place(e.Other, e.X, e.Y),
	}}})
}

func (r *room) pong(p *wire.Ping) []byte {
	r.mu.Lock()
	defer r.mu.Unlock()
	return marshal(&wire.ServerFrame{Body: &wire.ServerFrame_Pong{Pong: &wire.Pong{ClientMs: p.ClientMs, ServerMs: uint64(time.Now().UnixMilli()), Tick: r.world.Tick()}}})
}

// join adds a client; false: there is no place.
func (r *room) join(c *client, spectate bool) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	if spectate {
		r.spectators[c] = true
		r.welcome(c, &player{})
		return true
	}
	if len(r.players) >= r.capacity {
		return false
	}
	p := &player{id: r.world.Join(), client: c, credit: ahead}
	r.players[p.id] = p
	r.welcome(c, p)
	return true
}

// resume gives a client the body of a lost one; false: there is none with this token.
func (r *room) resume(c *client, token string) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, p := range r.players {
		if p.resume == token && !p.bot {
			if p.client != nil {
				p.client.stop()
			}
			p.client, p.commands, p.seen, p.done, p.credit = c, nil, 0, 0, ahead
			r.welcome(c, p)
			return true
		}
	}
	return false
}

func (r *room) welcome(c *client, p *player) {
	c.player = p.id
	if p.id != 0 {
		p.resume = rand.Text()
	}
	events := [][]byte{marshal(&wire.ServerFrame{Body: &wire.ServerFrame_Welcome{Welcome: &wire.Welcome{
		EntityId: p.id, Room: r.id, Resume: p.resume, Tick: r.world.Tick(), TickHz: game.Hz, World: game.Size, Scale: game.Scale, TopSpeed: game.TopSpeed,
	}}})}
	for _, e := range r.world.Pickups() {
		events = append(events, event(e))
	}
	c.offer(nil, events...)
}

// leave ends a client's presence; its body stays for a while unless it says that it leaves.
func (r *room) leave(c *client, forGood bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	delete(r.spectators, c)
	p := r.players[c.player]
	if p == nil || p.client != c {
		return
	}
	p.client, p.lost, p.commands = nil, time.Now(), nil
	if forGood {
		r.remove(p)
	}
}

func (r *room) remove(p *player) {
	r.world.Leave(p.id)
	delete(r.players, p.id)
}

// input takes the commands of a client that are new, and not more than time has passed.
func (r *room) input(c *client, in *wire.Input) {
	r.mu.Lock()
	defer r.mu.Unlock()
	p := r.players[c.player]
	if p == nil || p.client != c {
		return
	}
	for _, command := range in.Commands {
		if command.Seq <= p.seen {
			continue
		}
		p.seen = command.Seq
		if p.credit > 0 {
			p.credit--
			p.commands = append(p.commands, command)
		}
	}
}
