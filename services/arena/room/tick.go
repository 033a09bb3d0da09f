package room

import (
	"context"
	"time"

	"dyno/services/arena/delta"
	"dyno/services/arena/game"
)

// Interval is the time between two ticks.
const Interval = time.Second / game.Hz

// Run takes the room's ticks until ctx ends, or until the room has had no client for long.
func (r *Room) Run(ctx context.Context) {
	ctx, end := context.WithCancel(ctx)
	defer end()
	err := runTicks(ctx, tickOptions{period: Interval, observer: r.stats}, func() {
		r.poll()
		if !r.tick() {
			end()
		}
	})
	if err != nil {
		panic(err) // the options are constants
	}
}

// Close ends a room whose ticks have ended: nothing joins any more. It waits for the clients that
// the room reads, and for the recording.
func (r *Room) Close() {
	r.mu.Lock()
	r.ended = true
	for _, c := range r.polled {
		r.poller.end(c.reader, context.Canceled)
	}
	r.polled = nil
	rec := r.options.Recorder
	r.options.Recorder = nil // players may leave still
	r.mu.Unlock()
	defer r.poller.ending.Wait()
	if rec == nil {
		return
	}
	if err := rec.Close(); err != nil {
		r.log.Error("the recording of a room is not whole", "room", r.ID, "error", err)
	}
}

// tick applies the commands, ends the tick and shows the state to all. It returns false when the
// room has had no client for long, and has ended.
func (r *Room) tick() bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	rec := r.options.Recorder
	for i := 0; i < len(r.players); i++ {
		switch p := r.players[i]; {
		case p.bot:
			for range game.PerTick {
				r.world.Apply(p.id, r.world.Bot(p.id))
				if rec != nil {
					rec.Bot(p.id)
				}
			}
		case p.client == nil && r.world.Tick()-p.lost > keptBody:
			r.remove(p)
			i--
		default:
			for _, c := range p.take() {
				r.world.Apply(p.id, c)
				if rec != nil {
					rec.Apply(p.id, c)
				}
			}
		}
	}
	r.world.Step()
	r.now.Store(r.world.Tick())
	s := r.history.next(r.world.Tick())
	s.Entities = r.world.Entities(s.Entities)
	s.Hash = game.Hash(s.Entities)
	r.history.keep(s)
	if rec != nil {
		rec.Step(s.Hash)
	}
	r.show(s)
	r.ended = r.idle > maxIdle
	return !r.ended
}

// show sends the state to all, and what has happened.
func (r *Room) show(s *delta.State) {
	r.said = 0
	for _, e := range r.world.Events() {
		r.announce(gameEvent(e))
	}
	r.view.begin(r, s)
	r.idle++
	r.each(func(c *Client, acked uint32) {
		r.idle = 0
		c.show(&r.view, acked)
	})
}
