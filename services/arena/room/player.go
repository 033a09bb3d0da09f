package room

import (
	"sync"

	"dyno/services/arena/game"
	"dyno/services/arena/match"
	"dyno/services/arena/wire"
)

// player is a body in the room.
type player struct {
	id     uint32
	name   string
	bot    bool
	seat   *match.Seat // nil: it is a bot
	client *Client     // nil: the socket was lost, or it is a bot
	lost   uint32      // the tick
	access Access      // nil: none is needed
	tokens tokens
	done   uint32 // the sequence number of the last command that was applied
	inbox
}

// inbox is the commands that a player has sent and the room has not applied.
type inbox struct {
	mu      sync.Mutex
	from    *Client // whose commands are taken
	credit  int     // commands for which time has passed
	seen    uint32  // the highest sequence number
	n       int
	waiting [ahead + maxPerTick]command
	taken   [maxPerTick]game.Command
}

type command struct {
	seq uint32
	do  game.Command
}

// Input takes the commands of a client that are new, and not more of them than time has passed.
func (r *Room) Input(c *Client, in *wire.Input) {
	if in.AckTick > 0 {
		c.acked.Store(in.AckTick)
	}
	if in.AckTick == 0 || in.AckTick > c.welcomed.Load() { // an older state may be of a lost socket
		r.Heard(c)
	}
	p := c.player
	if p == nil || p.id == 0 {
		if len(in.Commands) > 0 {
			r.stats.Reject(ReasonSpectator)
		}
		return
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.from != c {
		return // another socket has its body
	}
	for _, one := range in.Commands {
		p.put(command{one.Seq, game.Command{Buttons: one.Buttons, Aim: one.Aim, ViewTick: one.ViewTick}}, r.stats)
	}
}

// put adds a command, unless it was seen before or comes ahead of time.
func (i *inbox) put(c command, stats *Stats) {
	switch {
	case c.seq <= i.seen:
		stats.Reject(ReasonRepeated)
		return
	case i.credit == 0 || i.n == len(i.waiting):
		stats.Reject(ReasonHurried)
	default:
		i.credit--
		i.waiting[i.n] = c
		i.n++
	}
	i.seen = c.seq
}

// begin lets a client command the body.
func (p *player) begin(c *Client) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.client, p.from, p.credit, p.seen, p.n, p.done = c, c, ahead, 0, 0, 0
}

// take returns the commands of this tick. Those that were dropped count as done with the last one.
func (p *player) take() []game.Command {
	p.mu.Lock()
	defer p.mu.Unlock()
	n := min(p.n, maxPerTick)
	for i, c := range p.waiting[:n] {
		p.taken[i], p.done = c.do, c.seq
	}
	p.n = copy(p.waiting[:], p.waiting[n:p.n])
	if p.n == 0 {
		p.done = p.seen
	}
	p.credit = min(p.credit+game.PerTick, ahead+game.PerTick)
	return p.taken[:n]
}
