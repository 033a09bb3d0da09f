package match

import (
	"crypto/rand"
	"sync"
	"time"
)

// Held is how long a place is held for a player that was promised it.
const Held = 10 * time.Second

// Seats are the places of one room. Each is free, taken by a player, or held for one, and at no
// time are more taken and held than there are.
type Seats struct {
	capacity int
	now      func() time.Time

	mu    sync.Mutex
	taken map[*Seat]struct{}
	held  map[string]hold // by token
}

type hold struct {
	player Player
	until  time.Time
}

// Seat is a place that a player has taken.
type Seat struct {
	Player Player // that it was held for; empty: it was not held, and the skill is unknown
	rated  bool
	of     *Seats
}

// NewSeats returns the places of an empty room. A nil clock is time.Now.
func NewSeats(capacity int, now func() time.Time) *Seats {
	if now == nil {
		now = time.Now
	}
	return &Seats{capacity: capacity, now: now, taken: map[*Seat]struct{}{}, held: map[string]hold{}}
}

// Take takes a free place, for a player that comes without a token.
func (s *Seats) Take() (*Seat, bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.free() <= 0 {
		return nil, false
	}
	return s.take(&Seat{of: s}), true
}

// Hold holds a free place for a player. The token is secret between server and player.
func (s *Seats) Hold(p Player) (token string, ok bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.free() <= 0 {
		return "", false
	}
	token = rand.Text()
	s.held[token] = hold{p, s.now().Add(Held)}
	return token, true
}

// Forget gives back the places that are held.
func (s *Seats) Forget() {
	s.mu.Lock()
	defer s.mu.Unlock()
	clear(s.held)
}

// Claim takes the place that is held under a token. It fails when the token was used or is too old.
func (s *Seats) Claim(token string) (*Seat, bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.expire()
	h, ok := s.held[token]
	if !ok {
		return nil, false
	}
	delete(s.held, token)
	return s.take(&Seat{Player: h.player, rated: true, of: s}), true
}

func (s *Seats) take(seat *Seat) *Seat {
	s.taken[seat] = struct{}{}
	return seat
}

// Leave frees the place. A second call does nothing.
func (s *Seat) Leave() {
	s.of.mu.Lock()
	defer s.of.mu.Unlock()
	delete(s.of.taken, s)
}

// Room returns what a Queue must know of the room.
func (s *Seats) Room(id string) Room {
	s.mu.Lock()
	defer s.mu.Unlock()
	r := Room{ID: id, Free: s.free()}
	sum := 0
	for _, h := range s.held {
		r.Rated, sum = r.Rated+1, sum+h.player.Skill
	}
	for seat := range s.taken {
		if seat.rated {
			r.Rated, sum = r.Rated+1, sum+seat.Player.Skill
		}
	}
	if r.Rated > 0 {
		r.Skill = sum / r.Rated
	}
	return r
}

func (s *Seats) free() int {
	s.expire()
	return s.capacity - len(s.taken) - len(s.held)
}

// expire frees the places that no player came for.
func (s *Seats) expire() {
	now := s.now()
	for token, h := range s.held {
		if !now.Before(h.until) {
			delete(s.held, token)
		}
	}
}
