package recording

import (
	"encoding/binary"

	"dyno/parts/wal/segment/frame"
	"dyno/services/arena/game"
)

// A block is a sequence of operations, each a byte and what follows it:
//
//	0          nothing: fills the block up
//	step       the low 16 bits of the state's hash
//	join       the id, a byte
//	leave      the id
//	bots       an id and a number n: n commands of bots, game.PerTick of each of the ids from this on
//	check      the tick and the hash: uint32 and uint64; at the end of the block
//	finish     why the recording ended early, a length and a text: at the end of the last block
//	128 + ...  a command
//
// Of a command's byte, the low four bits are how far its id is above that of the tick's command
// before it, or 15 when the id follows as a byte. Three more say what follows because it differs
// from the same player's command before: buttons, aim (less the one before), and view. The view is
// 0 for the newest, or 1 + how old it is. Integers are little-endian or varints, and those with a
// sign zigzag varints.
const (
	opStep = 1 + iota
	opJoin
	opLeave
	opBots
	opCheck
	opFinish

	opCommand  = 0x80
	hasButtons = 0x40
	hasAim     = 0x20
	hasView    = 0x10
	otherID    = 0x0f
)

// memory is what both sides know of the operations so far.
type memory struct {
	tick    uint32
	id      uint32 // of the last command in this tick
	players [game.MaxPlayers + 1]command
}

// command is the last one of a player.
type command struct {
	buttons uint32
	aim     int32
	view    uint64 // 0, or 1 + zigzag of its age in ticks
}

func viewOf(tick, seen uint32) uint64 {
	if seen == 0 {
		return 0
	}
	age := int64(tick) - int64(seen)
	return 1 + uint64(age<<1^age>>63)
}

// seen is the inverse of viewOf.
func seen(tick uint32, view uint64) uint32 {
	if view == 0 {
		return 0
	}
	view--
	return uint32(int64(tick) - (int64(view>>1) ^ -int64(view&1)))
}

// encoder appends operations to a block.
type encoder struct {
	memory
	block []byte
	bots  struct{ first, n uint32 } // commands that are not in the block yet
}

func (e *encoder) join(id uint32) {
	e.flush()
	e.block = append(e.block, opJoin, byte(id))
}

func (e *encoder) leave(id uint32) {
	e.flush()
	e.block = append(e.block, opLeave, byte(id))
}

// bot counts the commands of bots that come in the order in which a room plays its bots.
func (e *encoder) bot(id uint32) {
	if e.bots.n == 0 || id != e.bots.first+e.bots.n/game.PerTick {
		e.flush()
		e.bots.first = id
	}
	e.bots.n++
}

func (e *encoder) flush() {
	if e.bots.n > 0 {
		e.block = binary.AppendUvarint(append(e.block, opBots, byte(e.bots.first)), uint64(e.bots.n))
		e.bots.n = 0
	}
}

func (e *encoder) apply(id uint32, c game.Command) {
	e.flush()
	last := &e.players[id]
	now := command{c.Buttons, c.Aim, viewOf(e.tick, c.ViewTick)}
	at := len(e.block)
	e.block = append(e.block, opCommand)
	if above := id - e.id; above < otherID {
		e.block[at] |= byte(above)
	} else {
		e.block[at] |= otherID
		e.block = append(e.block, byte(id))
	}
	if now.buttons != last.buttons {
		e.block[at] |= hasButtons
		e.block = binary.AppendUvarint(e.block, uint64(now.buttons))
	}
	if now.aim != last.aim {
		e.block[at] |= hasAim
		e.block = binary.AppendVarint(e.block, int64(now.aim)-int64(last.aim))
	}
	if now.view != last.view {
		e.block[at] |= hasView
		e.block = binary.AppendUvarint(e.block, now.view)
	}
	e.id, *last = id, now
}

func (e *encoder) step(hash uint64) {
	e.flush()
	e.block = binary.LittleEndian.AppendUint16(append(e.block, opStep), uint16(hash))
	e.tick, e.id = e.tick+1, 0
}

// checkpoint ends a block.
func (e *encoder) checkpoint(hash uint64) {
	e.block = binary.LittleEndian.AppendUint32(append(e.block, opCheck), e.tick)
	e.block = fill(binary.LittleEndian.AppendUint64(e.block, hash))
}

// ending is the last block.
func ending(reason string) []byte {
	return fill(append(binary.AppendUvarint([]byte{opFinish}, uint64(len(reason))), reason...))
}

func fill(block []byte) []byte {
	for len(block)%frame.Alignment != 0 {
		block = append(block, 0)
	}
	return block
}
