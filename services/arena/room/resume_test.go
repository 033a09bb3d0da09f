package room

import (
	"errors"
	"testing"

	"dyno/services/arena/match"
	"dyno/services/arena/wire"
)

// tokenOf returns the resume token of the Welcome that a client received.
func tokenOf(t *testing.T, f *fake) string {
	t.Helper()
	for _, message := range f.received(t) {
		var got wire.ServerFrame
		if err := got.UnmarshalVT(message); err != nil {
			t.Fatal(err)
		}
		if w := got.GetWelcome(); w != nil {
			return w.Resume
		}
	}
	t.Fatal("there is no Welcome")
	return ""
}

// resumed takes a body up again.
func resumed(t *testing.T, r *Room, token string) (*Client, *fake) {
	t.Helper()
	f := newFake(wire.Proto)
	c := NewClient(f, r.config, r.stats)
	t.Cleanup(func() { c.End(nil, 0, "") })
	if err := r.Resume(c, token); err != nil {
		t.Fatal(err)
	}
	return c, f
}

func refused(t *testing.T, r *Room, token string) {
	t.Helper()
	c := NewClient(newFake(wire.Proto), r.config, r.stats)
	defer c.End(nil, 0, "")
	if err := r.Resume(c, token); !errors.Is(err, ErrResume) {
		t.Errorf("a token that is used up: %v", err)
	}
}

// Each Welcome may be lost; the token before it is good until the client shows that it has the new
// one, and then it is not.
func TestLostWelcomes(t *testing.T) {
	for name, shows := range map[string]func(r *Room, c *Client){
		"something":          func(r *Room, c *Client) { r.Heard(c) },
		"commands":           func(r *Room, c *Client) { r.Input(c, input(1, 0, 1)) },
		"a tick":             func(r *Room, c *Client) { r.tick(); r.Input(c, &wire.Input{AckTick: r.Tick()}) },
		"the token, at last": nil,
	} {
		t.Run(name, func(t *testing.T) {
			r := newRoom(Options{Capacity: 2}, tuned)
			f := newFake(wire.Proto)
			c := join(t, r, f)
			first, body := tokenOf(t, f), c.player
			r.Heard(c)
			r.Leave(c, false)
			var sent []string
			for i := range 2 * maxSent {
				r.tick()
				if c, f = resumed(t, r, first); c.player != body {
					t.Fatal("it is another body")
				}
				sent = append(sent, tokenOf(t, f))
				// What a lost socket brought late, and a state of before the Welcome, show nothing.
				r.Input(c, &wire.Input{AckTick: r.Tick()})
				if i%2 == 0 {
					r.Leave(c, false) // otherwise it hangs
				}
			}
			c, f = resumed(t, r, first)
			last := tokenOf(t, f)
			if shows == nil {
				last = sent[len(sent)-1] // which came late, to a socket that was given up
				resumed(t, r, last)
			} else {
				shows(r, c)
			}
			refused(t, r, first)
			refused(t, r, sent[0])
			resumed(t, r, last)
		})
	}
}

// A socket that was given up shows nothing for the one that has the body.
func TestOnlyTheBodysClientShows(t *testing.T) {
	r := newRoom(Options{Capacity: 2}, tuned)
	f := newFake(wire.Proto)
	c := join(t, r, f)
	first := tokenOf(t, f)
	r.Heard(c)
	old, _ := resumed(t, r, first)
	resumed(t, r, first)
	r.Heard(old)
	resumed(t, r, first)
}

// The place that was held is joined again while its Welcome may be lost.
func TestLostWelcomeOfAPlace(t *testing.T) {
	r := newRoom(Options{Capacity: 1}, tuned)
	token, _ := r.Hold(match.Player{Name: "ada"})
	none := func(match.Player) Access { return nil }
	claim := func() (*Client, error) {
		c := NewClient(newFake(wire.Proto), r.config, r.stats)
		t.Cleanup(func() { c.End(nil, 0, "") })
		return c, r.Claim(c, token, none)
	}
	first, err := claim()
	if err != nil {
		t.Fatal(err)
	}
	second, err := claim()
	if err != nil || second.player != first.player {
		t.Fatalf("the same place again: %v", err)
	}
	r.Heard(second)
	if _, err := claim(); !errors.Is(err, ErrFull) {
		t.Errorf("a place that is taken: %v", err)
	}
}

// A body is taken up by a client that may be there: by its own right, or by what let the body in.
func TestResumeNeedsAccess(t *testing.T) {
	over := errors.New("over")
	ended := false
	r := newRoom(Options{Capacity: 1}, tuned)
	f := newFake(wire.Proto)
	c := NewClient(f, r.config, r.stats)
	defer c.End(nil, 0, "")
	c.Access = func() error {
		if ended {
			return over
		}
		return nil
	}
	if err := r.Join(c, "ada"); err != nil {
		t.Fatal(err)
	}
	again, f := resumed(t, r, tokenOf(t, f))
	token := tokenOf(t, f)
	if ended = true; again.Access() != over {
		t.Error("the client has not what let the body in")
	}
	late := NewClient(newFake(wire.Proto), r.config, r.stats)
	defer late.End(nil, 0, "")
	if err := r.Resume(late, token); err != over {
		t.Errorf("after the end: %v", err)
	}
	late.Access = func() error { return nil }
	if err := r.Resume(late, token); err != nil {
		t.Errorf("with a right of its own: %v", err)
	}
}
