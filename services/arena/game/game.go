// Package game is the arena: a square world in which players run in eight directions, shoot along a
// line and take pickups. All of it is integers, so that a server, a page that predicts and a replay
// come to the same state, down to its hash.
//
// It is not for who plays, how inputs arrive or when a tick is due: the caller applies commands in
// the order of the players' ids and then calls Step, 30 times a second. It starts no goroutines,
// and one goroutine uses a World.
package game

import "math"

// The world's measures. A unit is 1/Scale of what users see.
const (
	Size     = 1000 // of the world, each way
	Scale    = 32   // units in 1
	Edge     = Size*Scale - 1
	Hz       = 30  // ticks in a second
	PerTick  = 2   // commands that a player has in a tick
	TopSpeed = 120 // in a second

	stride   = TopSpeed * Scale / (Hz * PerTick) // units that a command moves a player
	diagonal = stride * 7071 / 10000             // each way

	MaxPlayers = 255        // ids are 1 to 255
	Rewind     = 9          // ticks: the age of what a shooter saw, at most (300 ms)
	Full       = 100        // hit points
	radius     = 16 * Scale // of a player
	reach      = 600 * Scale
	damage     = 25
	reload     = 12 // commands from one shot to the next
	dead       = 2 * Hz
	perKill    = 5
	pickups    = 8
	renewed    = 5 * Hz // ticks until a pickup that was taken is elsewhere
)

// Buttons of a command.
const (
	Up = 1 << iota
	Down
	Left
	Right
	Fire
)

// Command is what a player does in a sixtieth of a second.
type Command struct {
	Buttons  uint32
	Aim      int32  // angle in 1/65536 of a turn: 0 is to the right, a quarter is down
	ViewTick uint32 // of the state that the player sees others in; 0: the newest
}

// Entity is what others see of a player.
type Entity struct {
	ID    uint32
	X, Y  int32  // units
	Dir   uint32 // where it aims: 1/256 of a turn
	HP    uint32 // 0: it is dead, until it begins again elsewhere
	Score uint32
}

// Kind is what an Event is about.
type Kind uint32

// The kinds of events.
const (
	Shot    Kind = 1 + iota // Other is the player that was hit; 0: none
	Kill                    // of Other
	Began                   // a player is somewhere else, with all hit points
	Taken                   // a pickup, whose number is Other
	Renewed                 // a pickup is at X, Y; Player is 0
)

// Event is something that happened in a tick and that no Entity says.
type Event struct {
	Kind   Kind
	Player uint32
	Other  uint32
	X, Y   int32
}

type body struct {
	Entity
	present bool
	reload  int // commands until the next shot
	until   uint32
}

type point struct{ x, y int32 }

type pickup struct {
	point
	until uint32 // the tick in which it is there again; 0: it is there
}

// World is the state of a room.
type World struct {
	tick    uint32
	seed    uint64
	drawn   uint64 // random numbers so far
	bodies  [MaxPlayers + 1]body
	last    uint32 // the highest id that is present
	pickups [pickups]pickup
	past    [Rewind + 1][MaxPlayers + 1]point // by tick
	events  []Event
}

// New returns an empty world. Worlds of one seed to which the same happens are the same.
func New(seed uint64) *World {
	w := &World{seed: seed}
	for i := range w.pickups {
		w.pickups[i].point = w.somewhere()
	}
	return w
}

// Tick is the number of the last tick.
func (w *World) Tick() uint32 { return w.tick }

// Join adds a player under the lowest free id; 0 means that there is none.
func (w *World) Join() uint32 {
	for id := uint32(1); id <= MaxPlayers; id++ {
		if b := &w.bodies[id]; !b.present {
			*b = body{Entity: Entity{ID: id}, present: true}
			w.last = max(w.last, id)
			w.begin(b)
			return id
		}
	}
	return 0
}

// Leave removes a player.
func (w *World) Leave(id uint32) {
	if id > MaxPlayers {
		return
	}
	w.bodies[id].present = false
	for w.last > 0 && !w.bodies[w.last].present {
		w.last--
	}
}

// begin places a player with all hit points.
func (w *World) begin(b *body) {
	at := w.somewhere()
	b.X, b.Y, b.HP, b.until = at.x, at.y, Full, 0
	for i := range w.past { // nothing is where it was before
		w.past[i][b.ID] = at
	}
	w.events = append(w.events, Event{Kind: Began, Player: b.ID, X: b.X, Y: b.Y})
}

// Apply has a player do a command.
func (w *World) Apply(id uint32, c Command) {
	if id > MaxPlayers || !w.bodies[id].present {
		return
	}
	b := &w.bodies[id]
	b.Dir = Direction(c.Aim)
	b.reload = max(0, b.reload-1)
	if b.HP == 0 {
		return
	}
	b.X, b.Y = Move(b.X, b.Y, c.Buttons)
	if c.Buttons&Fire != 0 && b.reload == 0 {
		b.reload = reload
		w.shoot(b, c.ViewTick)
	}
}

// Move returns where a player is after a command.
func Move(x, y int32, buttons uint32) (int32, int32) {
	dx := int32(buttons/Right&1) - int32(buttons/Left&1)
	dy := int32(buttons/Down&1) - int32(buttons/Up&1)
	by := int32(stride)
	if dx != 0 && dy != 0 {
		by = diagonal
	}
	return min(max(x+dx*by, 0), Edge), min(max(y+dy*by, 0), Edge)
}

// Step ends a tick: the dead begin again, pickups are taken, and the positions are kept for shots.
func (w *World) Step() {
	w.tick++
	for id := uint32(1); id <= w.last; id++ {
		if b := &w.bodies[id]; b.present && b.HP == 0 && w.tick >= b.until {
			w.begin(b)
		}
	}
	for i := range w.pickups {
		w.offer(i)
	}
	at := &w.past[w.tick%uint32(len(w.past))]
	for id := uint32(1); id <= w.last; id++ {
		at[id] = point{w.bodies[id].X, w.bodies[id].Y}
	}
}

// offer gives a pickup to the first player that touches it.
func (w *World) offer(i int) {
	p := &w.pickups[i]
	if p.until > w.tick {
		return
	}
	if p.until != 0 {
		*p = pickup{point: w.somewhere()}
		w.events = append(w.events, Event{Kind: Renewed, Other: uint32(i), X: p.x, Y: p.y})
	}
	for id := uint32(1); id <= w.last; id++ {
		b := &w.bodies[id]
		if dx, dy := int64(b.X-p.x), int64(b.Y-p.y); b.present && b.HP > 0 && dx*dx+dy*dy <= radius*radius {
			b.HP, b.Score, p.until = min(Full, b.HP+damage), b.Score+1, w.tick+renewed
			w.events = append(w.events, Event{Kind: Taken, Player: id, Other: uint32(i), X: p.x, Y: p.y})
			return
		}
	}
}

// Events returns what has happened since it was last called. The slice is the world's until Apply
// or Step is called.
func (w *World) Events() []Event {
	out := w.events
	w.events = w.events[:0]
	return out
}

// Pickups returns an event of each pickup that can be taken, for a player that is new.
func (w *World) Pickups() (out []Event) {
	for i, p := range w.pickups {
		if p.until == 0 {
			out = append(out, Event{Kind: Renewed, Other: uint32(i), X: p.x, Y: p.y})
		}
	}
	return out
}

// Entities appends the players, in the order of their ids.
func (w *World) Entities(to []Entity) []Entity {
	for id := uint32(1); id <= w.last; id++ {
		if w.bodies[id].present {
			to = append(to, w.bodies[id].Entity)
		}
	}
	return to
}

// Entity returns a player; false: there is none of this id.
func (w *World) Entity(id uint32) (Entity, bool) {
	if id > MaxPlayers || !w.bodies[id].present {
		return Entity{}, false
	}
	return w.bodies[id].Entity, true
}

// Hash is FNV-1a of 64 bits over the fields of each entity, in their order, as 32-bit words with
// the lowest byte first.
func Hash(entities []Entity) uint64 {
	h := uint64(14695981039346656037)
	for i := range entities {
		e := &entities[i]
		for _, word := range [...]uint32{e.ID, uint32(e.X), uint32(e.Y), e.Dir, e.HP, e.Score} {
			for range 4 {
				h = (h ^ uint64(word&0xff)) * 1099511628211
				word >>= 8
			}
		}
	}
	return h
}

// somewhere is a random point, not at the edge.
func (w *World) somewhere() point {
	w.drawn++
	r := mix(w.seed, w.drawn)
	const inner = Edge - 4*radius
	return point{int32(2*radius + uint32(r)%inner), int32(2*radius + uint32(r>>32)%inner)}
}

// mix is a random number of two others: the finaliser of SplitMix64.
func mix(seed, n uint64) uint64 {
	z := seed + n*0x9e3779b97f4a7c15
	z = (z ^ z>>30) * 0xbf58476d1ce4e5b9
	z = (z ^ z>>27) * 0x94d049bb133111eb
	return z ^ z>>31
}

// turns are the cosines of 256 directions, times 2^14.
var turns = func() (t [256]int64) {
	for i := range t {
		t[i] = int64(math.Round(math.Cos(2*math.Pi*float64(i)/256) * one))
	}
	return t
}()

const one = 1 << 14
