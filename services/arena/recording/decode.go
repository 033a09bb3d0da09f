package recording

import (
	"encoding/binary"
	"errors"
	"fmt"

	"dyno/services/arena/game"
)

// player does what blocks say, to a world.
type player struct {
	memory
	world    *game.World
	entities []game.Entity
	hash     uint64 // after the last tick

	recorded uint64 // at the last check
	differs  uint32 // the first tick whose hash differs; 0: none
	finished bool
	reason   string // of an early end
}

func newPlayer(seed uint64) *player {
	return &player{world: game.New(seed), hash: game.Hash(nil), recorded: game.Hash(nil)}
}

var errShort = errors.New("an operation is cut off")

// block does the operations of a block.
func (p *player) block(b []byte) error {
	in := input{b: b}
	for len(in.b) > 0 && !in.short {
		if err := p.do(in.byte(), &in); err != nil {
			return err
		}
	}
	if in.short {
		return errShort
	}
	return nil
}

func (p *player) do(op byte, in *input) error {
	if op&opCommand != 0 {
		return p.command(op, in)
	}
	switch op {
	case 0:
	case opStep:
		p.step(uint16(in.fixed(2)), in)
	case opJoin:
		id := uint32(in.byte())
		if in.short {
			return errShort
		}
		if got := p.world.Join(); got != id {
			return fmt.Errorf("a player joins as %d, and as %d in the recording", got, id)
		}
	case opLeave:
		p.world.Leave(uint32(in.byte()))
	case opBots:
		return p.bots(uint32(in.byte()), in.uvarint())
	case opCheck:
		return p.check(uint32(in.fixed(4)), in)
	case opFinish:
		p.finished, p.reason = true, string(in.next(in.uvarint()))
	default:
		return fmt.Errorf("there is no operation %d", op)
	}
	return nil
}

func (p *player) command(op byte, in *input) error {
	if above := uint32(op & otherID); above < otherID {
		p.id += above
	} else {
		p.id = uint32(in.byte())
	}
	if p.id == 0 || p.id > game.MaxPlayers {
		return fmt.Errorf("a command of player %d", p.id)
	}
	last := &p.players[p.id]
	if op&hasButtons != 0 {
		last.buttons = uint32(in.uvarint())
	}
	if op&hasAim != 0 {
		last.aim += int32(in.varint())
	}
	if op&hasView != 0 {
		last.view = in.uvarint()
	}
	if !in.short {
		p.world.Apply(p.id, game.Command{Buttons: last.buttons, Aim: last.aim, ViewTick: seen(p.tick, last.view)})
	}
	return nil
}

func (p *player) bots(first uint32, n uint64) error {
	if n > game.PerTick*game.MaxPlayers || first == 0 || first+uint32(n+game.PerTick-1)/game.PerTick > game.MaxPlayers+1 {
		return fmt.Errorf("%d commands of bots from player %d on", n, first)
	}
	for i := range uint32(n) {
		id := first + i/game.PerTick
		p.world.Apply(id, p.world.Bot(id))
	}
	return nil
}

func (p *player) step(low uint16, in *input) {
	if in.short {
		return
	}
	p.world.Step()
	p.world.Events() // are not kept
	p.tick, p.id = p.tick+1, 0
	p.entities = p.world.Entities(p.entities[:0])
	p.hash = game.Hash(p.entities)
	p.compare(uint16(p.hash) == low)
}

func (p *player) check(tick uint32, in *input) error {
	hash := in.fixed(8)
	if in.short {
		return errShort
	}
	if tick != p.tick {
		return fmt.Errorf("the block ends with tick %d", tick)
	}
	p.recorded = hash
	p.compare(hash == p.hash)
	return nil
}

func (p *player) compare(equal bool) {
	if !equal && p.differs == 0 {
		p.differs = p.tick
	}
}

// input is the rest of a block. What is read beyond its end is zero.
type input struct {
	b     []byte
	short bool // something was read beyond the end
}

func (in *input) next(n uint64) (b []byte) {
	if n > uint64(len(in.b)) {
		in.b, in.short = nil, true
		return nil
	}
	b, in.b = in.b[:n], in.b[n:]
	return b
}

func (in *input) byte() byte { return byte(in.fixed(1)) }

func (in *input) fixed(n uint64) (v uint64) {
	for i, b := range in.next(n) {
		v |= uint64(b) << (8 * i)
	}
	return v
}

func (in *input) uvarint() uint64 {
	v, n := binary.Uvarint(in.b)
	if n <= 0 {
		in.b, in.short = nil, true
		return 0
	}
	in.b = in.b[n:]
	return v
}

func (in *input) varint() int64 {
	v := in.uvarint()
	return int64(v>>1) ^ -int64(v&1)
}
