package delta

import (
	"encoding/binary"
	"errors"
	"fmt"
	"slices"

	"dyno/services/arena/game"
)

// Decoder decodes what a client receives on a connection. Its zero value is one that received
// nothing.
type Decoder struct {
	states [3]State // two that were decoded last, and room for the next
	known  int      // how many were decoded, up to 2
	next   int      // where in states
}

// Packed is the first byte of a message whose rest is bits.
const Packed = 1

// errAhead is the error of a difference from a state that this decoder has not.
var errAhead = errors.New("it is the difference from a state that was not decoded here: pass all messages of a connection, in their order")

// Decode decodes a message. The state is the decoder's, and stays as it is until Decode is called
// for the second time. After an error the decoder is as it was before.
func (d *Decoder) Decode(message []byte) (*State, uint32, error) {
	if len(message) == 0 || message[0] != Packed {
		return nil, 0, fmt.Errorf("it does not begin with %d, as a state in bits does", Packed)
	}
	acked, n := binary.Uvarint(message[1:])
	if n <= 0 || acked > 1<<32-1 {
		return nil, 0, errors.New("the acknowledged sequence number is not a varint of 32 bits")
	}
	now := &d.states[d.next]
	if err := d.decode(now, newBitReader(message[1+n:])); err != nil {
		return nil, 0, err
	}
	d.known = min(d.known+1, 2)
	d.next = (d.next + 1) % len(d.states)
	return now, uint32(acked), nil
}

// last returns the state that was decoded i before the newest; nil: none was.
func (d *Decoder) last(i int) *State {
	if i >= d.known {
		return nil
	}
	return &d.states[(d.next+2-i)%len(d.states)]
}

func (d *Decoder) decode(now *State, r bitReader) error {
	now.Entities = now.Entities[:0]
	full, want := r.Flag(), r.Bits(8)
	var err error
	if full {
		now.Tick = r.Bits(32)
		err = readJoined(&r, now, orderCount)
	} else {
		err = d.decodeDelta(&r, now)
	}
	switch {
	case r.Err() != nil:
		return r.Err()
	case err != nil:
		return err
	case r.End() != nil:
		return r.Err()
	}
	now.Hash = game.Hash(now.Entities)
	if got := check(now.Hash); got != want {
		return fmt.Errorf("the state of tick %d is not the sender's: the first byte of its hash is %02x, not %02x", now.Tick, got, want)
	}
	return nil
}

func (d *Decoder) decodeDelta(r *bitReader, now *State) error {
	ticks, old, tick := r.Number(orderGap), r.Number(orderGap), r.Bits(tickBits)
	base, before := d.last(0), d.last(1)
	if old == 1 {
		before = nil
	}
	switch {
	case base == nil:
		return errAhead
	case base.Tick%(1<<tickBits) != tick:
		return fmt.Errorf("%w; the last one here is of tick %d, the sender's is one whose number ends with the bits %04b", errAhead, base.Tick, tick)
	case age(base, before) != old:
		return fmt.Errorf("%w; of the last two here the newer is of tick %d, and the other is not as old as the sender's", errAhead, base.Tick)
	case uint64(base.Tick)+uint64(ticks)+1 > 1<<32-1:
		return fmt.Errorf("its tick is %d + %d + 1, which has more than 32 bits", base.Tick, ticks)
	}
	now.Tick = base.Tick + ticks + 1
	if err := readChanges(r, now, base, before); err != nil {
		return err
	}
	kept := len(now.Entities)
	if err := readJoined(r, now, orderGap); err != nil {
		return err
	}
	if kept < len(now.Entities) {
		slices.SortFunc(now.Entities, func(a, b game.Entity) int {
			if a.ID < b.ID {
				return -1
			}
			return 1
		})
	}
	for i := 1; i < len(now.Entities); i++ {
		if now.Entities[i-1].ID == now.Entities[i].ID {
			return fmt.Errorf("entity %d joins, and is there", now.Entities[i].ID)
		}
	}
	return nil
}

// readJoined reads how many entities without a base there are, and them.
func readJoined(r *bitReader, now *State, order int) error {
	count := int(r.Number(order))
	if len(now.Entities)+count > MaxEntities {
		return fmt.Errorf("it has %d entities; a state has at most %d", len(now.Entities)+count, MaxEntities)
	}
	if count*leastEntity > r.Left() {
		return fmt.Errorf("it has %d entities in %d bits", count, r.Left())
	}
	least := uint64(0)
	for range count {
		e, ok := readNew(r, least)
		if !ok {
			return fmt.Errorf("the id of an entity has more than 32 bits: it is above %d", least)
		}
		now.Entities = append(now.Entities, e)
		least = uint64(e.ID) + 1
	}
	return nil
}

// readChanges reads what became of the entities of base.
func readChanges(r *bitReader, now, base, before *State) error {
	order := int(r.Bits(runBits))
	left := uint32(len(base.Entities))
	run := uint32(0) // how many are as predicted; then one is not
	if left > 0 {
		run = r.Number(order)
	}
	for p := newPairs(now, base, before); p.next(); {
		if run > left {
			return fmt.Errorf("%d entities are as predicted, and %d are left", run, left)
		}
		e, stays := *p.from, true
		left--
		if run > 0 {
			run--
			e.X, e.Y = p.x, p.y
		} else {
			var err error
			if stays, err = readRecord(r, &p.motion, &e); err != nil {
				return err
			}
			if left > 0 {
				run = r.Number(order)
			}
		}
		if stays {
			now.Entities = append(now.Entities, e)
		}
	}
	return nil
}

// readRecord reads what differs of an entity; false: it is no more.
func readRecord(r *bitReader, m *motion, e *game.Entity) (stays bool, err error) {
	kind := kindStep
	for kind < kindRemoved && r.Flag() {
		kind++
	}
	switch kind {
	case kindStep, kindHalf:
		step := readStep(r, m.step)
		e.X, e.Y = m.turned(step, kind == kindHalf)
		e.Dir = m.aim(step)
	case kindTurn:
		e.X, e.Y = m.x, m.y
		e.Dir = readAim(r, e.Dir)
	case kindAny:
		return true, readAny(r, m, e)
	}
	return kind != kindRemoved, nil
}

func readAny(r *bitReader, m *motion, e *game.Entity) error {
	switch form := r.Bits(formBits); form {
	case formPredicted:
		e.X, e.Y = m.x, m.y
	case formStep, formHalf:
		step := readStep(r, m.step)
		e.X, e.Y = m.turned(step, form == formHalf)
		e.Dir = m.aim(step)
	case formPace:
		pace, step := int64(r.Bits(2))+1, int(r.Bits(3))+1
		e.X, e.Y = moved(e.X, e.Y, step, pace*m.ticks)
		e.Dir = m.aim(step)
	case formPrediction:
		e.X, e.Y = m.x+r.Signed(orderPlace), m.y+r.Signed(orderPlace)
	case formBase:
		e.X, e.Y = e.X+r.Signed(orderPlace), e.Y+r.Signed(orderPlace)
	case formPlace:
		e.X, e.Y = readPlace(r)
	default:
		return fmt.Errorf("entity %d has a place of form %d; there are 0 to %d", e.ID, form, formPlace)
	}
	if r.Flag() {
		e.Dir = readAim(r, e.Dir)
	}
	if r.Flag() {
		e.HP += uint32(r.Signed(orderHP))
	}
	if r.Flag() {
		e.Score += uint32(r.Signed(orderScore))
	}
	return nil
}
