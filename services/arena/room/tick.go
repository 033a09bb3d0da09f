package room

import (
	"context"
	"time"

	"dyno/parts/ticker"
	"dyno/services/arena/game"
)

// Interval is the time between two ticks.
const Interval = time.Second / game.Hz

// Run takes the room's ticks until ctx ends, or until the room has had no client for long. Then
// nothing joins any more, and its clients are disconnected.
func (r *Room) Run(ctx context.Context) {
	ctx, end := context.WithCancel(ctx)
	defer end()
	err := ticker.Run(ctx, ticker.Options{Period: Interval, Observer: r.stats}, func() {
		if !r.tick() {
			end()
		}
	})
	if err != nil {
		panic(err) // the options are constants
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	r.ended = true
	r.each(func(c *Client, _ uint32) { c.Kick() })
	if r.options.Recorder == nil {
		return
	}
	if err := r.options.Recorder.Close(); err != nil {
		r.log.Error("the recording of a room is not whole", "room", r.ID, "error", err)
	}
}

// tick applies the commands, ends the tick and shows the state to all. It returns false when the
// room has had no client for long, and has ended.
func (r *Room) tick() bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.takePackets()
	rec := r.options.Recorder
	for i := 0; i < len(r.players); i++ {
		switch p := r.players[i]; {
		case p.bot:
			for range game.PerTick {
				r.world.Apply(p.id, r.world.Bot(p.id))
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
	s := &r.states[r.world.Tick()%kept]
	s.Tick, s.Entities = r.world.Tick(), r.world.Entities(s.Entities[:0])
	s.Hash = game.Hash(s.Entities)
	if rec != nil {
		rec.Step(s.Hash)
	}
	r.show()
	r.ended = r.idle > maxIdle
	return !r.ended
}

// show sends the state to all, and what has happened.
func (r *Room) show() {
	for _, e := range r.world.Events() {
		f := gameEvent(e)
		r.each(func(c *Client, _ uint32) { c.event(f) })
	}
	r.view.begin(r, r.state(r.world.Tick()))
	r.idle++
	r.each(func(c *Client, acked uint32) {
		r.idle = 0
		c.show(&r.view, acked)
	})
}
