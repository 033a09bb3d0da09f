// Package delta is the state of a room as subprotocol arena.v1.bits has it on the wire: what
// differs from the state that the client has, in as few bits as a simple code needs. The page
// docs/reference/arena-bits.md has every bit of it.
//
// The sender and the receiver both predict a state from the two before it: a player goes on as it
// went. Players of which that is true cost a fraction of a bit. The others have a record, and the
// most frequent records are the shortest: another of the nine steps of the game, with the aim that
// follows it, has four bits. All other values, those of another game too, have longer records. So
// the code is exact, and a byte of the state's hash lets a receiver notice if it is not.
//
// It is not for when a state is sent, nor for which two states a client has: the room knows what it
// has written to each. It starts no goroutines; one goroutine uses a Decoder.
package delta

import (
	"iter"
	"math"

	"dyno/services/arena/game"
)

// MaxEntities is how many entities a state has at most.
const MaxEntities = 4096

// State is a room's state after a tick, or the part of it that a client sees.
type State struct {
	Tick     uint32
	Entities []game.Entity // in the order of their ids, each of which occurs once
	Hash     uint64        // game.Hash(Entities)
}

// Orders of the numbers whose code is exponential Golomb: about the bits of the usual ones.
const (
	orderGap   = 0 // from an id to the next
	orderPlace = 6 // what a place differs by
	orderAim   = 2 // turns, in 1/256
	orderHP    = 4
	orderScore = 2
	orderCount = 5 // entities of a full state
)

const (
	placeBits = 15 // of a coordinate in the world
	dirBits   = 8
	tickBits  = 4 // of the base's tick
	runBits   = 3 // of the order of runs
)

// leastEntity is how many bits an entity without a base has at least.
const leastEntity = 1 + (1 + 2*placeBits) + (1 + dirBits) + 1 + (1 + orderScore)

// Append appends the bits of now to dst, against the two states that the client received last: base
// is the newer. Without a base, or where that is shorter, it appends the full state.
func Append(dst []byte, now, base, before *State) []byte {
	if base == nil || base.Tick >= now.Tick {
		return appendFull(dst, now)
	}
	if before != nil && before.Tick >= base.Tick {
		before = nil
	}
	start := len(dst)
	out := appendDelta(dst, now, base, before)
	if 8*(len(out)-start) <= leastEntity*len(now.Entities) {
		return out
	}
	end := len(out)
	out = appendFull(out, now)
	if len(out)-end < end-start {
		return append(out[:start], out[end:]...)
	}
	return out[:end]
}

func appendFull(dst []byte, now *State) []byte {
	w := bitWriter{Bytes: dst}
	w.Flag(true)
	w.Bits(check(now.Hash), 8)
	w.Bits(now.Tick, 32)
	writeJoined(&w, now, nil, orderCount)
	return w.End()
}

func appendDelta(dst []byte, now, base, before *State) []byte {
	w := bitWriter{Bytes: dst}
	w.Flag(false)
	w.Bits(check(now.Hash), 8)
	w.Number(now.Tick-base.Tick-1, orderGap)
	w.Number(age(base, before), orderGap)
	w.Bits(base.Tick, tickBits)
	writeChanges(&w, now, base, before)
	writeJoined(&w, now, base.Entities, orderGap)
	return w.End()
}

// age is the code of how many ticks before is older than base: 0 for one, 1 for no such state.
func age(base, before *State) uint32 {
	switch {
	case before == nil:
		return 1
	case base.Tick-before.Tick == 1:
		return 0
	}
	return base.Tick - before.Tick
}

// check is the byte of a hash that goes with a state.
func check(hash uint64) uint32 { return uint32(hash >> 56) }

// writeChanges writes a record for each entity of base that is not as predicted, behind how many
// before it are.
func writeChanges(w *bitWriter, now, base, before *State) {
	order := runOrder(now, base, before)
	w.Bits(uint32(order), runBits)
	run := uint32(0)
	for p := newPairs(now, base, before); p.next(); {
		if p.asPredicted() {
			run++
			continue
		}
		w.Number(run, order)
		run = 0
		writeRecord(w, &p)
	}
	if run > 0 {
		w.Number(run, order)
	}
}

// runOrder returns the order with which the runs have the fewest bits.
func runOrder(now, base, before *State) int {
	var length [1 << runBits]int
	run := uint32(0)
	count := func() {
		for order := range length {
			length[order] += numberLen(run, order)
		}
		run = 0
	}
	for p := newPairs(now, base, before); p.next(); {
		if p.asPredicted() {
			run++
		} else {
			count()
		}
	}
	if run > 0 {
		count()
	}
	best := 0
	for order := range length {
		if length[order] < length[best] {
			best = order
		}
	}
	return best
}

// writeJoined writes how many entities are not among others, and them.
func writeJoined(w *bitWriter, now *State, others []game.Entity, order int) {
	count := uint32(0)
	for range joined(now.Entities, others) {
		count++
	}
	w.Number(count, order)
	least := uint32(0)
	for e := range joined(now.Entities, others) {
		writeNew(w, e, least)
		least = e.ID + 1
	}
}

// joined goes through the entities that are not among others.
func joined(all, others []game.Entity) iter.Seq[*game.Entity] {
	return func(yield func(*game.Entity) bool) {
		var found *game.Entity
		for i := range all {
			found, others = find(others, all[i].ID)
			if found == nil && !yield(&all[i]) {
				return
			}
		}
	}
}

// writeNew writes an entity without a base, whose id is at least that.
func writeNew(w *bitWriter, e *game.Entity, least uint32) {
	w.Number(e.ID-least, orderGap)
	writePlace(w, e.X, e.Y)
	writeWide(w, e.Dir, dirBits)
	w.Flag(e.HP != game.Full)
	if e.HP != game.Full {
		w.Number(e.HP, orderHP)
	}
	w.Number(e.Score, orderScore)
}

func readNew(r *bitReader, least uint64) (e game.Entity, ok bool) {
	id := least + uint64(r.Number(orderGap))
	e.ID = uint32(id)
	e.X, e.Y = readPlace(r)
	e.Dir = readWide(r, dirBits)
	e.HP = game.Full
	if r.Flag() {
		e.HP = r.Number(orderHP)
	}
	e.Score = r.Number(orderScore)
	return e, id <= math.MaxUint32
}

// writePlace writes a point: a bit, and its coordinates with the bits of one in the world, or 32.
func writePlace(w *bitWriter, x, y int32) {
	n := placeLen(x, y)
	w.Flag(n > placeBits)
	w.Bits(uint32(x), n)
	w.Bits(uint32(y), n)
}

func placeLen(x, y int32) int {
	if uint32(x)>>placeBits != 0 || uint32(y)>>placeBits != 0 {
		return 32
	}
	return placeBits
}

func readPlace(r *bitReader) (x, y int32) {
	n := placeBits
	if r.Flag() {
		n = 32
	}
	return int32(r.Bits(n)), int32(r.Bits(n))
}

// writeWide writes a bit and a number, with n bits where those are enough, or 32.
func writeWide(w *bitWriter, v uint32, n int) {
	if v>>n != 0 {
		n = 32
	}
	w.Flag(n == 32)
	w.Bits(v, n)
}

func readWide(r *bitReader, n int) uint32 {
	if r.Flag() {
		n = 32
	}
	return r.Bits(n)
}
