package room

import (
	"context"
	"errors"
	"sync"
	"testing"
	"time"

	"dyno/services/arena/game"
	"dyno/services/arena/wire"
)

// A tick of a full room makes next to no garbage, however many play.
func TestTickAllocatesNothing(t *testing.T) {
	for _, subprotocol := range []string{wire.Bits, wire.Proto} {
		r := newRoom(Options{Capacity: 50}, tuned)
		var clients []*Client
		for range 50 {
			f := newFake(subprotocol)
			f.keep = false
			clients = append(clients, join(t, r, f))
		}
		in := input(0, 0, 0)
		tick := func() {
			in.Seq++
			in.AckTick = r.Tick()
			for i, c := range clients {
				for k, one := range in.Commands {
					one.Seq, one.Buttons = 2*in.Seq+uint32(k), uint32(i)*in.Seq/16%16
				}
				r.Input(c, in)
			}
			r.tick()
		}
		for range 12 * game.Hz { // the history is full
			tick()
		}
		got := testing.AllocsPerRun(3*game.Hz, tick)
		t.Logf("%s: %v allocations a tick", subprotocol, got)
		if got > maxAllocs {
			t.Errorf("%s: %v allocations a tick of 50 players, above %v", subprotocol, got, maxAllocs)
		}
	}
}

const maxAllocs = 10 // of what happens now and then, such as a pickup

// recorder fails a test that uses it after its end.
type recorder struct {
	t     *testing.T
	ended bool
}

func (r *recorder) use() {
	if r.ended {
		r.t.Error("used after its end")
	}
}

func (r *recorder) Join(uint32)                { r.use() }
func (r *recorder) Leave(uint32)               { r.use() }
func (r *recorder) Apply(uint32, game.Command) { r.use() }
func (r *recorder) Bot(uint32)                 { r.use() }
func (r *recorder) Step(uint64)                { r.use() }

func (r *recorder) Close() error {
	r.use()
	r.ended = true
	return nil
}

// reader is a Reader that counts its ends.
type reader struct {
	room   *Room
	client *Client
	poll   func() error
	mu     sync.Mutex
	ends   []error
}

func (r *reader) Poll([]byte) error { return r.poll() }

func (r *reader) End(err error) {
	r.room.Leave(r.client, true)
	r.mu.Lock()
	defer r.mu.Unlock()
	r.ends = append(r.ends, err)
}

// Each client that a room reads ends once, also while others come and the room ends; those that
// come too late are not taken. Players that leave then are in no recording.
func TestAdoptAndEnd(t *testing.T) {
	r := newRoom(Options{Capacity: 100, Recorder: &recorder{t: t}}, tuned)
	r.stats.Lateness = func(time.Duration) {}
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	var running sync.WaitGroup
	running.Go(func() { r.Run(ctx); r.Close() })
	gone := errors.New("gone")
	var readers []*reader
	for i := range 100 {
		if i == 50 {
			running.Go(cancel)
		}
		c := NewClient(newFake(wire.Bits), r.config, r.stats)
		t.Cleanup(func() { c.End(nil, 0, "") })
		one := &reader{room: r, client: c, poll: func() error {
			if i%3 == 0 {
				return gone
			}
			return nil
		}}
		if r.Join(c, "") == nil && r.Adopt(c, one) {
			readers = append(readers, one)
		}
	}
	running.Wait()
	for i, one := range readers {
		if len(one.ends) != 1 {
			t.Errorf("client %d ended %d times", i, len(one.ends))
		}
	}
	late := &reader{room: r, client: NewClient(newFake(wire.Bits), r.config, r.stats)}
	defer late.client.End(nil, 0, "")
	if r.Adopt(late.client, late) || len(readers) < 50 {
		t.Errorf("adopted after the end; %d before it", len(readers))
	}
}
