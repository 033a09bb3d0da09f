// Package match finds a room for a player: one with a free place whose players are about as
// skilled, or a new one together with a player that waits as well. What counts as "about" widens
// while the player waits.
//
// Clients ask and ask again; between two requests a player is a ticket in memory. Seats are the
// places of one room, held strictly for players that were promised one.
//
// It is not for what a room is, or where it runs: Rooms says which are open, makes them and holds
// their places, on this machine or on others (package fleet). It starts no goroutines; any
// goroutine may use a Queue or Seats.
package match

import (
	"cmp"
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"math"
	"slices"
	"strings"
	"sync"
	"time"
	"unicode"
	"unicode/utf8"
)

// Errors of Ask and Poll.
var (
	ErrFull     = errors.New("too many players wait for a match: ask again in a second")
	ErrNoTicket = errors.New("no such ticket: its place is held no longer, or it was not asked for in time; ask with name and skill again")
)

// Player is a player that wants a room. Skill is on any scale that all players share;
// Options.Window is on the same.
type Player struct {
	Name  string `json:"name"`
	Skill int    `json:"skill"`
	Until int64  `json:"until,omitempty"` // seconds since 1970: when the token ends that it asked with; 0: it needed none
}

// Bounds of a player.
const (
	MaxName  = 32        // bytes
	MaxSkill = 1_000_000 // and -MaxSkill
)

// Check returns what is wrong with a player, for its client.
func (p Player) Check() error {
	switch {
	case p.Name == "" || len(p.Name) > MaxName || !utf8.ValidString(p.Name) || strings.ContainsFunc(p.Name, unicode.IsControl):
		return fmt.Errorf("name must be text of 1 to %d bytes in UTF-8, without control characters", MaxName)
	case p.Skill < -MaxSkill || p.Skill > MaxSkill:
		return fmt.Errorf("skill must be from %d to %d", -MaxSkill, MaxSkill)
	}
	return nil
}

// Room is a room that players may be sent to.
type Room struct {
	ID    string
	Free  int // places that are neither taken nor held
	Rated int // players whose skill is known, with those that a place is held for
	Skill int // the mean of those
}

// Place is a place that is held for a player, for Held after it was promised.
type Place struct {
	Room  string `json:"room"`
	Token string `json:"token"`         // for Join.token
	URL   string `json:"url,omitempty"` // of the node that has the room; "": the one that was asked
}

// Rooms is where players can be placed.
type Rooms interface {
	// Open lists rooms, of which those without a free place are passed over.
	Open() []Room
	// Create makes a room for players of about that skill.
	Create(ctx context.Context, skill int) (room string, err error)
	// Reserve holds a place in a room. It fails when the room has none left: what Open said may be
	// old.
	Reserve(ctx context.Context, room string, p Player) (Place, error)
}

// Options of a Queue.
type Options struct {
	Window   int           // how far the skill of a room or partner may be from a player's in the beginning
	Widen    time.Duration // after which the window doubles, and again after the same time
	Patience time.Duration // after which any room or partner will do, and without one a room of the player's own
	Idle     time.Duration // after which a ticket is forgotten that was not asked for
	Tickets  int           // players that may wait
	Now      func() time.Time
}

// Usual are the options of every server.
func Usual() Options {
	return Options{Window: 50, Widen: 2 * time.Second, Patience: 10 * time.Second, Idle: 10 * time.Second, Tickets: 1000, Now: time.Now}
}

// Queue is the players that wait.
type Queue struct {
	rooms Rooms
	o     Options

	mu      sync.Mutex
	tickets map[string]*ticket
}

// ticket is a player that waits. The queue's lock guards what changes.
type ticket struct {
	id     string
	player Player
	since  time.Time
	asked  time.Time
	busy   bool   // a request looks for its place, so that no other one does
	place  *Place // kept while it is held: the answer with it may be lost, and is repeated
	found  time.Time
}

// attempts is how many rooms a request tries to reserve in, since each may take a round trip.
const attempts = 3

// New returns an empty queue.
func New(rooms Rooms, o Options) *Queue {
	return &Queue{rooms: rooms, o: o, tickets: map[string]*ticket{}}
}

// Ask looks for a place for a player, which passes Check. Without one yet, it returns a ticket to
// Poll with.
func (q *Queue) Ask(ctx context.Context, p Player) (place *Place, id string, err error) {
	q.mu.Lock()
	defer q.mu.Unlock()
	now := q.sweep()
	if q.waiting() >= q.o.Tickets {
		return nil, "", ErrFull
	}
	t := &ticket{id: rand.Text(), player: p, since: now, asked: now}
	q.tickets[t.id] = t
	if q.answer(ctx, t) != nil {
		delete(q.tickets, t.id) // its client does not learn of the ticket
	}
	return t.place, t.id, nil
}

// Poll asks again. A nil place means that the player still waits. A place is the answer as long as
// it is held.
func (q *Queue) Poll(ctx context.Context, id string) (*Place, error) {
	q.mu.Lock()
	defer q.mu.Unlock()
	now := q.sweep()
	t, ok := q.tickets[id]
	if !ok {
		return nil, ErrNoTicket
	}
	t.asked = now
	return q.answer(ctx, t), nil
}

func (q *Queue) waiting() (n int) {
	for _, t := range q.tickets {
		if t.place == nil {
			n++
		}
	}
	return n
}

// sweep forgets tickets that are not asked for, or whose place is held no longer. Their number is
// bounded, also by the places, so each request may look at all.
func (q *Queue) sweep() (now time.Time) {
	now = q.o.Now()
	for id, t := range q.tickets {
		if !t.busy && (now.Sub(t.asked) > q.o.Idle || t.place != nil && now.Sub(t.found) >= Held) {
			delete(q.tickets, id)
		}
	}
	return now
}

// answer looks for a place for a ticket that none was found for yet. The lock is held, except
// while rooms are asked.
func (q *Queue) answer(ctx context.Context, t *ticket) *Place {
	if t.place == nil && !t.busy {
		q.search(ctx, t)
	}
	return t.place
}

// search tries the rooms, then the players that wait. Of two requests that look for partners
// concurrently, the later one finds the other's ticket free.
func (q *Queue) search(ctx context.Context, t *ticket) {
	t.busy = true
	defer func() { t.busy = false }()

	window, found := q.window(t), q.o.Now() // before the place is held
	var place *Place
	q.unlocked(func() { place = q.enter(ctx, t.player, window) })
	if t.place, t.found = place, found; place != nil {
		return
	}
	group := []*ticket{t}
	if partner := q.partner(t); partner != nil {
		partner.busy = true
		defer func() { partner.busy = false }()
		group = append(group, partner)
	} else if window != everything {
		return
	}
	var places []*Place
	q.unlocked(func() { places = q.open(ctx, group) })
	for i, place := range places {
		group[i].place, group[i].found = place, found
	}
}

func (q *Queue) unlocked(do func()) {
	q.mu.Unlock()
	defer q.mu.Lock()
	do()
}

// everything is the window that has every skill in it.
const everything = math.MaxInt

func (q *Queue) window(t *ticket) int {
	waited := q.o.Now().Sub(t.since)
	if waited >= q.o.Patience {
		return everything
	}
	window := q.o.Window
	for ; waited >= q.o.Widen && window < everything/2; waited -= q.o.Widen {
		window *= 2
	}
	return window
}

// enter reserves in the room whose skill is nearest. A room of unknown skill is the last to be
// tried.
func (q *Queue) enter(ctx context.Context, p Player, window int) *Place {
	rooms := slices.DeleteFunc(slices.Clone(q.rooms.Open()), func(r Room) bool {
		return r.Free <= 0 || r.Rated > 0 && distance(r.Skill, p.Skill) > window
	})
	off := func(r Room) int {
		if r.Rated == 0 {
			return everything
		}
		return distance(r.Skill, p.Skill)
	}
	slices.SortStableFunc(rooms, func(a, b Room) int { return cmp.Compare(off(a), off(b)) })
	for _, r := range rooms[:min(len(rooms), attempts)] {
		if place, err := q.rooms.Reserve(ctx, r.ID, p); err == nil {
			return &place
		}
	}
	return nil
}

// partner returns the nearest player that waits, if it is in the wider one of both windows: a
// player of unusual skill has waited long and must not wait for another such.
func (q *Queue) partner(t *ticket) (nearest *ticket) {
	for _, other := range q.tickets {
		if other == t || other.busy || other.place != nil || other.player.Name == t.player.Name {
			continue
		}
		d := distance(t.player.Skill, other.player.Skill)
		if d > max(q.window(t), q.window(other)) {
			continue
		}
		if nearest == nil || d < distance(t.player.Skill, nearest.player.Skill) {
			nearest = other
		}
	}
	return nearest
}

// open makes a room for a group. Who gets no place waits on.
func (q *Queue) open(ctx context.Context, group []*ticket) (places []*Place) {
	sum := 0
	for _, t := range group {
		sum += t.player.Skill
	}
	room, err := q.rooms.Create(ctx, sum/len(group))
	if err != nil {
		return nil // the server has as many rooms as it may; a place may become free
	}
	for _, t := range group {
		place, err := q.rooms.Reserve(ctx, room, t.player)
		if err != nil {
			break
		}
		places = append(places, &place)
	}
	return places
}

func distance(a, b int) int { return max(a-b, b-a) }
