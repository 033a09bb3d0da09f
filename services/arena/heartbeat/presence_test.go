package heartbeat

import (
	"context"
	"fmt"
	"math/rand/v2"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"pgregory.net/rapid"
)

// Presence agrees with a map of times, whatever its places went through.
func TestRemembers(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		max := rapid.IntRange(1, 40).Draw(t, "max")
		r, model, now := newPresence(max), map[string]int64{}, int64(0)
		id := rapid.Custom(func(t *rapid.T) string { return fmt.Sprint("player-", rapid.IntRange(0, 60).Draw(t, "id")) })
		t.Repeat(map[string]func(*rapid.T){
			"": func(t *rapid.T) {
				for _, since := range []int64{0, now - 5, now} {
					want := 0
					for _, at := range model {
						if at >= since {
							want++
						}
					}
					if got := r.count(since); got != want {
						t.Fatalf("since %d: %d, not %d", since, got, want)
					}
				}
			},
			"heard": func(t *rapid.T) {
				now++
				id := id.Draw(t, "id")
				_, known := model[id]
				want := known || len(model) < max
				buffer := []byte(id)
				if got := r.heard(buffer, now); got != want {
					t.Fatalf("%s: %v, not %v", id, got, want)
				}
				clear(buffer)
				if want {
					model[id] = now
				}
			},
			"expire": func(t *rapid.T) {
				since := now - rapid.Int64Range(-1, 20).Draw(t, "age")
				r.expire(since)
				for id, at := range model {
					if at < since {
						delete(model, id)
					}
				}
			},
		})
	})
}

// Heartbeats, counts and expiry may come at the same time, and each player that beats is there.
func TestConcurrentHeartbeats(t *testing.T) {
	const players, rounds = 1000, 10
	r := newPresence(2 * players)
	var all sync.WaitGroup
	for range 4 {
		all.Go(func() {
			for round := range int64(rounds) {
				for _, p := range rand.Perm(players) {
					if !r.heard(fmt.Appendf(nil, "%d", p), round) {
						t.Error("full")
						return
					}
				}
				r.expire(round - 1)
				r.count(round)
			}
		})
	}
	all.Wait()
	for p := range players {
		r.heard(fmt.Appendf(nil, "%d", p), rounds)
	}
	if n := r.count(rounds); n != players {
		t.Errorf("%d players, not %d", n, players)
	}
	if r.expire(rounds + 1); r.count(0) != 0 {
		t.Errorf("%d players are left", r.count(0))
	}
}

// A player is present for 30 s after a heartbeat, and is forgotten then.
func TestPresence(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := New(Config{MaxPresent: 2})
		ctx, end := context.WithCancel(context.Background())
		var run sync.WaitGroup
		run.Go(func() { h.Run(ctx) })
		record(h, `{"player_id":"ada"}`)
		time.Sleep(20 * time.Second)
		record(h, `{"player_id":"bob"}`)
		if record(h, `{"player_id":"eve"}`); h.Present() != 2 || h.Beyond() != 1 {
			t.Errorf("%d players, %d beyond", h.Present(), h.Beyond())
		}
		if time.Sleep(11 * time.Second); h.Present() != 1 {
			t.Errorf("%d players after 31 s", h.Present())
		}
		time.Sleep(sweep)
		record(h, `{"player_id":"eve"}`) // in ada's place
		if time.Sleep(20 * time.Second); h.Present() != 1 || h.Beyond() != 1 {
			t.Errorf("%d players, %d beyond", h.Present(), h.Beyond())
		}
		time.Sleep(Window + sweep)
		if h.Present() != 0 || h.players.count(0) != 0 {
			t.Errorf("%d players are remembered", h.players.count(0))
		}
		end()
		run.Wait()
	})
}
