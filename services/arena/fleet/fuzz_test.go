package fleet

import (
	"encoding/json"
	"log/slog"
	"testing"
	"time"

	"dyno/services/arena/match"
)

func encode(t testing.TB, v any) []byte {
	t.Helper()
	body, err := json.Marshal(v)
	if err != nil {
		t.Fatal(err)
	}
	return body
}

// FuzzMessages reads what another node may send.
func FuzzMessages(f *testing.F) {
	room := Room{ID: "r", Capacity: 2, Free: 1}
	f.Add(encode(f, announcement{Node: "b", Run: "x", URL: "http://b", Rooms: []announced{{room, []string{"ada"}}}}))
	f.Add(encode(f, announcement{Node: "b", Run: "x", Gone: true}))
	f.Add(encode(f, reservation{"r", match.Player{Name: "ada", Skill: 3}}))
	f.Add(encode(f, Message{Topic: Lobby, From: "ada", Text: "hello"}))
	f.Add([]byte(`{"node":"../..","rooms":[{}]}`))
	h := &hall{rooms: map[string]*match.Seats{"r": match.NewSeats(2, nil)}}
	a := &Fleet{o: Options{Node: "a", Beat: time.Hour, Rooms: h.list, Match: h, Log: slog.New(slog.DiscardHandler)}, nodes: map[string]*node{}, change: make(chan struct{}, 1)}
	f.Fuzz(func(t *testing.T, body []byte) {
		a.take(body)
		_, _ = a.reserve(body)
		_, _ = decodeMessage(body)
		a.Open()
		a.Find("ada")
		for _, r := range a.Rooms() {
			if !identifier.MatchString(r.ID) {
				t.Errorf("a room called %q", r.ID)
			}
		}
		if n := a.Stats().Nodes; n > MaxNodes {
			t.Errorf("%d nodes", n)
		}
	})
}
