package room

import (
	"testing"

	"dyno/services/arena/delta"
	"dyno/services/arena/socket"
	"dyno/services/arena/wire"
)

// A client whose kernel takes nothing has one write that waits, and then receives the newest state
// as the difference from the last one that it was written.
func TestSlowClientReceivesTheNewest(t *testing.T) {
	for _, takes := range []int{0, 1, 7, 20} { // bytes in a tick
		r := newRoom(Options{Capacity: 20, Bots: 19, Seed: 1}, tuned)
		f := newFake(wire.Bits)
		c := join(t, r, f)
		var d delta.Decoder
		r.tick()
		states(t, &d, f.received(t))
		waits := 0
		for range 200 {
			f.accept(takes)
			r.tick()
			waits = max(waits, c.Queued())
		}
		if waits > 64<<10 {
			t.Errorf("%d bytes wait", waits)
		}
		old := states(t, &d, f.received(t))
		f.accept(endless)
		r.tick()
		r.tick()
		got := states(t, &d, f.received(t))
		if n := len(got); n == 0 || got[n-1] != r.Tick() || n > 3 || takes == 0 && len(old) != 0 {
			t.Errorf("%d bytes a tick: states %v came, and then %v of %d", takes, old, got, r.Tick())
		}
		if r.stats.Conflated.Load() == 0 || c.Queued() != 0 {
			t.Errorf("%d states conflated, %d bytes wait", r.stats.Conflated.Load(), c.Queued())
		}
	}
}

// A client that says it has only an old state receives few, and all again when it has caught up.
func TestFewStatesForOneBehind(t *testing.T) {
	r := newRoom(Options{Capacity: 2}, tuned)
	f := newFake(wire.Bits)
	c := join(t, r, f)
	var d delta.Decoder
	count := func(ticks int) int {
		for range ticks {
			r.tick()
		}
		return len(states(t, &d, f.received(t)))
	}
	count(5)
	r.Input(c, &wire.Input{AckTick: r.Tick()})
	if got := count(maxBehind); got != maxBehind {
		t.Errorf("%d states in the first second", got)
	}
	if got := count(4 * sparse); got > 4 {
		t.Errorf("%d states in two seconds", got)
	}
	r.Input(c, &wire.Input{AckTick: r.Tick()})
	if got := count(10); got != 10 {
		t.Errorf("%d of 10 states after it caught up", got)
	}
}

// What waits for a client that reads nothing is bounded, whatever others say.
func TestQueueIsBounded(t *testing.T) {
	for _, waits := range []bool{false, true} {
		r := newRoom(Options{Capacity: 2}, tuned)
		f := newFake(wire.Proto)
		f.waits, f.takes = waits, 0
		slow := join(t, r, f)
		other := join(t, r, newFake(wire.Proto))
		for range 100 {
			for range 2 * maxSaid {
				r.Say(other, &wire.GameEvent{ActionType: wire.ActionChat, Payload: make([]byte, wire.MaxChat)})
			}
			r.tick()
			if got := slow.Queued(); got > 64<<10 {
				t.Fatalf("%d bytes wait", got)
			}
		}
		if got := r.stats.Rejected(ReasonEvent); got != 100*maxSaid {
			t.Errorf("%d events were refused, not %d", got, 100*maxSaid)
		}
	}
}

// End writes the rest of a frame, what waits and the last words, in this order.
func TestEndWritesTheRest(t *testing.T) {
	r := newRoom(Options{Capacity: 2}, tuned)
	f := newFake(wire.Proto)
	c := join(t, r, f)
	f.accept(11)
	r.tick()
	c.Send(&wire.ServerFrame{Body: &wire.ServerFrame_Pong{Pong: &wire.Pong{ClientMs: 1}}})
	f.accept(endless)
	c.End(&wire.ServerFrame{Body: &wire.ServerFrame_Error{Error: &wire.Error{Code: "flood"}}}, socket.Policy, "flood")
	var last []string
	for _, message := range f.received(t) {
		var got wire.ServerFrame
		if err := got.UnmarshalVT(message); err != nil {
			t.Fatal(err)
		}
		switch {
		case got.GetSnapshot() != nil:
			last = append(last, "state")
		case got.GetPong() != nil:
			last = append(last, "pong")
		case got.GetError() != nil:
			last = append(last, got.GetError().Code)
		}
	}
	if len(last) != 3 || last[0] != "state" || last[1] != "pong" || last[2] != "flood" || f.code != socket.Policy {
		t.Errorf("%q, then close %d", last, f.code)
	}
}
