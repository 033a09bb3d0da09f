package fleet

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"github.com/nats-io/nats.go"

	"dyno/services/arena/match"
)

// patience bounds the wait for the owner of a room, which only counts places.
const patience = time.Second

// reservation asks the owner of a room for a place in it.
type reservation struct {
	Room   string       `json:"room"`
	Player match.Player `json:"player"`
}

// reserved is its answer.
type reserved struct {
	Token string `json:"token,omitempty"`
	Error string `json:"error,omitempty"`
}

// Create makes a room on this node.
func (f *Fleet) Create(ctx context.Context, skill int) (string, error) {
	defer f.Changed()
	return f.o.Match.Create(ctx, skill)
}

// Reserve holds a place in a room, which its owner counts, whichever node that is. The owner gives
// a place back whose player does not come, as when its answer was lost.
func (f *Fleet) Reserve(ctx context.Context, room string, p match.Player) (match.Place, error) {
	name, url, ok := f.owner(room)
	if !ok {
		return f.o.Match.Reserve(ctx, room, p)
	}
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	body, err := json.Marshal(reservation{room, p})
	if err != nil {
		return match.Place{}, err
	}
	m, err := f.conn.RequestWithContext(ctx, reservations+name, body)
	if err != nil {
		return match.Place{}, fmt.Errorf("asking node %s for a place in room %s: %w", name, room, err)
	}
	var r reserved
	switch err := json.Unmarshal(m.Data, &r); {
	case err != nil:
		return match.Place{}, fmt.Errorf("the answer of node %s: %w", name, err)
	case r.Error != "" || r.Token == "":
		return match.Place{}, fmt.Errorf("node %s has no place in room %s: %.200s", name, room, r.Error)
	}
	return match.Place{Room: room, Token: r.Token, URL: url}, nil
}

func (f *Fleet) receiveReservation(m *nats.Msg) {
	token, err := f.reserve(m.Data)
	r := reserved{Token: token}
	if err != nil {
		r.Error = err.Error()
	}
	f.publish(m.Reply, r)
}

func (f *Fleet) reserve(body []byte) (token string, err error) {
	var r reservation
	if err := json.Unmarshal(body, &r); err != nil {
		return "", err
	}
	if err := r.Player.Check(); err != nil {
		return "", err
	}
	if !identifier.MatchString(r.Room) {
		return "", errors.New("no such room")
	}
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	defer f.Changed()
	place, err := f.o.Match.Reserve(ctx, r.Room, r.Player)
	return place.Token, err
}
