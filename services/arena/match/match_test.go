package match

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"pgregory.net/rapid"
)

// clock is a time that tests move.
type clock struct {
	mu  sync.Mutex
	now time.Time
}

func (c *clock) Now() time.Time {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.now
}

func (c *clock) pass(d time.Duration) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.now = c.now.Add(d)
}

// waiting is the number of players that wait.
func waiting(q *Queue) int {
	q.mu.Lock()
	defer q.mu.Unlock()
	q.sweep()
	return q.waiting()
}

// house has rooms in memory.
type house struct {
	clock    *clock
	capacity int
	max      int // rooms

	mu    sync.Mutex
	rooms map[string]*Seats
	order []string
	// checked sees each reservation before it is made.
	checked func(room Room, p Player)
}

var errGone = errors.New("gone")

func newHouse(c *clock, capacity, most int) *house {
	return &house{clock: c, capacity: capacity, max: most, rooms: map[string]*Seats{}}
}

func (h *house) Open() (open []Room) {
	h.mu.Lock()
	defer h.mu.Unlock()
	for _, id := range h.order {
		open = append(open, h.rooms[id].Room(id))
	}
	return open
}

func (h *house) Create(context.Context, int) (string, error) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if len(h.order) >= h.max {
		return "", errors.New("too many rooms")
	}
	id := fmt.Sprint("room-", len(h.order))
	h.rooms[id], h.order = NewSeats(h.capacity, h.clock.Now), append(h.order, id)
	return id, nil
}

func (h *house) Reserve(_ context.Context, room string, p Player) (Place, error) {
	h.mu.Lock()
	seats := h.rooms[room]
	h.mu.Unlock()
	if seats == nil {
		return Place{}, errGone
	}
	if h.checked != nil {
		h.checked(seats.Room(room), p)
	}
	token, ok := seats.Hold(p)
	if !ok {
		return Place{}, errGone
	}
	return Place{Room: room, Token: token}, nil
}

func setup(capacity, most int) (*clock, *house, *Queue) {
	c := &clock{now: time.Unix(1000, 0)}
	h := newHouse(c, capacity, most)
	o := Usual()
	o.Now = c.Now
	return c, h, New(h, o)
}

func ask(t testing.TB, q *Queue, name string, skill int) (*Place, string) {
	t.Helper()
	place, id, err := q.Ask(t.Context(), Player{Name: name, Skill: skill})
	if err != nil {
		t.Fatal(err)
	}
	return place, id
}

func poll(t testing.TB, q *Queue, id string) *Place {
	t.Helper()
	place, err := q.Poll(t.Context(), id)
	if err != nil {
		t.Fatal(err)
	}
	return place
}

func TestPartnersShareANewRoom(t *testing.T) {
	c, h, q := setup(4, 10)
	first, ticket := ask(t, q, "ada", 1000)
	far, _ := ask(t, q, "far", 1051)
	second, _ := ask(t, q, "bob", 1000)
	if first != nil || far != nil || second == nil {
		t.Fatalf("places %v, %v, %v: want only the third player to find one", first, far, second)
	}
	if first = poll(t, q, ticket); first == nil || first.Room != second.Room || first.Token == second.Token {
		t.Fatalf("%v and %v", first, second)
	}
	if r := h.rooms[first.Room].Room(""); r.Free != 2 || r.Rated != 2 || r.Skill != 1000 {
		t.Errorf("the room is %+v", r)
	}
	if n := waiting(q); n != 1 {
		t.Errorf("%d players wait beside two that have a place", n)
	}
	c.pass(Held - time.Second) // the answer was lost, and again
	for range 2 {
		if again := poll(t, q, ticket); again == nil || *again != *first {
			t.Errorf("asked again, the place is %v, and was %v", again, first)
		}
	}
	if _, ok := h.rooms[first.Room].Claim(first.Token); !ok {
		t.Error("the place of the repeated answer is gone")
	}
	c.pass(time.Second)
	if _, err := q.Poll(t.Context(), ticket); !errors.Is(err, ErrNoTicket) {
		t.Errorf("a ticket whose place is held no longer: %v", err)
	}
}

// A player for which a place was found is no partner, though it has not asked yet.
func TestAMatchedPlayerIsNoPartner(t *testing.T) {
	_, _, q := setup(2, 10)
	ask(t, q, "ada", 0)
	ask(t, q, "bob", 0) // both have the only two places of a room
	if place, _ := ask(t, q, "eve", 0); place != nil {
		t.Errorf("a third player has %v", place)
	}
}

func TestWindowWidens(t *testing.T) {
	c, _, q := setup(4, 10)
	_, ticket := ask(t, q, "ada", 0)
	_, other := ask(t, q, "far", 150) // in the window after two doublings
	for range 3 {
		if place := poll(t, q, ticket); place != nil {
			t.Fatalf("found %v too early", place)
		}
		c.pass(time.Second)
	}
	c.pass(time.Second)
	if poll(t, q, ticket) == nil || poll(t, q, other) == nil {
		t.Error("no match although the window is wide enough")
	}
}

func TestAPlayerAloneGetsARoom(t *testing.T) {
	c, h, q := setup(4, 1)
	_, ticket := ask(t, q, "ada", 5000)
	c.pass(10 * time.Second)
	if poll(t, q, ticket) == nil {
		t.Fatal("the only player waits on")
	}
	_, ticket = ask(t, q, "bob", 0) // no second room may be made
	c.pass(10 * time.Second)
	if place := poll(t, q, ticket); place == nil || place.Room != h.order[0] {
		t.Fatalf("the second player has %v", place)
	}
}

func TestTicketsAreBounded(t *testing.T) {
	c := &clock{now: time.Unix(1000, 0)}
	o := Usual()
	o.Tickets, o.Now = 2, c.Now
	q := New(newHouse(c, 4, 10), o)
	ask(t, q, "a", 0)
	_, second := ask(t, q, "b", 1000)
	if _, _, err := q.Ask(t.Context(), Player{Name: "c", Skill: 2000}); !errors.Is(err, ErrFull) {
		t.Fatalf("a third ticket: %v", err)
	}
	c.pass(6 * time.Second)
	poll(t, q, second)
	c.pass(6 * time.Second)
	if n := waiting(q); n != 1 {
		t.Errorf("%d tickets, want that of the player that asked again", n)
	}
}

func TestCapacityIsStrict(t *testing.T) {
	c, h, q := setup(5, 1)
	room, err := h.Create(t.Context(), 0)
	if err != nil {
		t.Fatal(err)
	}
	seats := h.rooms[room]
	var all sync.WaitGroup
	places := make([]*Place, 12)
	for i := range places {
		all.Go(func() {
			place, _, err := q.Ask(t.Context(), Player{Name: fmt.Sprint("player-", i)})
			if err != nil {
				t.Error(err)
			}
			places[i] = place
		})
	}
	all.Wait()
	places = slices.DeleteFunc(places, func(p *Place) bool { return p == nil })
	if len(places) != 5 {
		t.Fatalf("%d players found a place, want 5", len(places))
	}
	if _, ok := seats.Take(); ok {
		t.Fatal("a place that is held was taken")
	}
	seat, ok := seats.Claim(places[0].Token)
	if !ok || seat.Player.Name == "" {
		t.Fatal("the held place was not there")
	}
	if _, ok := seats.Claim(places[0].Token); ok {
		t.Fatal("a token was used twice")
	}
	c.pass(Held)
	if _, ok := seats.Claim(places[1].Token); ok {
		t.Fatal("an old token was accepted")
	}
	for range 4 {
		if _, ok := seats.Take(); !ok {
			t.Fatal("a place that was held for too long is not free")
		}
	}
	if _, ok := seats.Take(); ok {
		t.Fatal("one place too many")
	}
	seat.Leave()
	seat.Leave()
	if free := seats.Room("").Free; free != 1 {
		t.Fatalf("%d places are free", free)
	}
}

// TestInvariants lets players ask, poll, join and leave in any order, and rooms fill up.
func TestInvariants(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		c, h, q := setup(rapid.IntRange(2, 4).Draw(t, "capacity"), rapid.IntRange(1, 30).Draw(t, "rooms"))
		since := map[string]time.Time{} // by name
		h.checked = func(r Room, p Player) {
			window := 50
			for waited := c.Now().Sub(since[p.Name]); waited >= 2*time.Second; waited -= 2 * time.Second {
				window *= 2
			}
			// The mean moves by at most half of the distance when a partner comes first.
			if patient := c.Now().Sub(since[p.Name]) >= 10*time.Second; r.Rated > 1 && !patient && distance(r.Skill, p.Skill) > window {
				t.Fatalf("%s of skill %d is sent to %+v in a window of %d", p.Name, p.Skill, r, window)
			}
		}
		tickets := map[string]string{} // by name
		var seats []*Seat
		arrive := func(name string, place *Place) {
			delete(tickets, name)
			if rapid.Bool().Draw(t, "comes") {
				seat, ok := h.rooms[place.Room].Claim(place.Token)
				if !ok {
					if c.Now().Sub(since[name]) < Held {
						t.Fatalf("the place of %s is gone", name)
					}
					return
				}
				seats = append(seats, seat)
			}
		}
		ask := func(name string) {
			place, err := q.Poll(context.Background(), tickets[name])
			switch {
			case errors.Is(err, ErrNoTicket):
				delete(tickets, name)
			case err != nil:
				t.Fatal(err)
			case place != nil:
				arrive(name, place)
			}
		}
		names := func() (all []string) {
			for name := range tickets {
				all = append(all, name)
			}
			slices.Sort(all)
			return all
		}
		t.Repeat(map[string]func(*rapid.T){
			"ask": func(t *rapid.T) {
				name := fmt.Sprint("player-", len(since))
				since[name] = c.Now()
				place, id, err := q.Ask(context.Background(), Player{Name: name, Skill: rapid.IntRange(0, 1000).Draw(t, "skill")})
				if err != nil {
					t.Fatal(err)
				}
				tickets[name] = id
				if place != nil {
					arrive(name, place)
				}
			},
			"poll": func(t *rapid.T) {
				if all := names(); len(all) > 0 {
					ask(rapid.SampledFrom(all).Draw(t, "name"))
				}
			},
			"leave": func(t *rapid.T) {
				if len(seats) > 0 {
					i := rapid.IntRange(0, len(seats)-1).Draw(t, "seat")
					seats[i].Leave()
					seats = slices.Delete(seats, i, i+1)
				}
			},
			"pass": func(t *rapid.T) { c.pass(time.Duration(rapid.IntRange(1, 3000).Draw(t, "ms")) * time.Millisecond) },
			"": func(t *rapid.T) {
				for id, s := range h.rooms {
					if free := s.Room(id).Free; free < 0 || free > h.capacity {
						t.Fatalf("%s has %d free places of %d", id, free, h.capacity)
					}
				}
			},
		})
		// A player that goes on asking finds a place, unless there is neither one nor room for more.
		for range 12 {
			c.pass(time.Second)
			for _, name := range names() {
				ask(name)
			}
		}
		free := 0
		for _, r := range h.Open() {
			free += r.Free
		}
		if left := names(); len(left) > 0 && (free > 0 || len(h.order) < h.max) {
			t.Fatalf("%v wait on, with %d free places and %d rooms", left, free, len(h.order))
		}
	})
}

func TestCheck(t *testing.T) {
	for p, ok := range map[Player]bool{
		{Name: "ada"}:                          true,
		{Name: "Ada Łukasz", Skill: -MaxSkill}: true,
		{}:                                     false,
		{Name: strings.Repeat("a", 33)}:        false,
		{Name: "two\nlines"}:                   false,
		{Name: "\xff"}:                         false,
		{Name: "ada", Skill: MaxSkill + 1}:     false,
	} {
		if err := p.Check(); (err == nil) != ok {
			t.Errorf("%+v: %v", p, err)
		}
	}
}
