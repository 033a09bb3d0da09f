package main

import (
	"testing"

	"dyno/parts/assembly"
	"dyno/services/arena/arenatest"
	"dyno/services/arena/wire"
)

// losesWelcomes resumes with a token again and again: each socket gets its Welcome, or would, and
// the client sees none of it.
func losesWelcomes(c *arenatest.Client, token string) {
	for i := range 6 {
		r := c.Open()
		r.Send(&wire.ClientFrame{Body: &wire.ClientFrame_Join{Join: &wire.Join{Resume: token}}})
		r.Find(arenatest.Binary) // the Join was read
		if i%2 == 0 {
			r.Reset() // otherwise it hangs
		}
	}
}

// A player whose Welcomes are lost comes back with the token of the last that it has read; when it
// has shown that it has a newer one, the older ones are of no use.
func TestResumesThoughWelcomesAreLost(t *testing.T) {
	for name, set := range sockets {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			program := starter(t, assembly.Variant{Assembly: assembly.Tuned, Set: set})(t)
			t.Cleanup(program.Stop)
			c := &arenatest.Client{T: t, Program: program}
			first := c.Join(&wire.Join{Room: c.Room(`{}`), Name: "ada"})
			first.Acknowledge(first.Next().Tick)
			losesWelcomes(c, first.Welcome.Resume)
			back := c.Join(&wire.Join{Resume: first.Welcome.Resume})
			if back.Welcome.EntityId != first.Welcome.EntityId {
				t.Fatalf("%v after %v", back.Welcome, first.Welcome)
			}
			back.Send(&wire.ClientFrame{Body: &wire.ClientFrame_Ping{Ping: &wire.Ping{ClientMs: 1}}})
			for back.Receive().GetPong() == nil {
			}
			if code := c.Refused(&wire.Join{Resume: first.Welcome.Resume}); code != "bad_resume" {
				t.Errorf("the older token: %q", code)
			}
			losesWelcomes(c, back.Welcome.Resume)
			if again := c.Join(&wire.Join{Resume: back.Welcome.Resume}); again.Welcome.EntityId != first.Welcome.EntityId {
				t.Errorf("%v after %v", again.Welcome, first.Welcome)
			}
		})
	}
}
