package delta

import (
	"dyno/services/arena/game"
)

// The kinds of records, by their codes: ones, and a zero unless it is the last.
const (
	kindStep    = iota // another step; the aim follows
	kindTurn           // another aim only
	kindHalf           // another step in the second half; the aim follows
	kindAny            // a form of the place, and which other fields differ
	kindRemoved        // it is no more, or out of sight
)

// The forms of a place in a record of kindAny.
const (
	formPredicted  = iota
	formStep       // another step
	formHalf       // another step in the second half
	formPace       // another number of commands of a step
	formPrediction // what it differs by from the prediction
	formBase       // what it differs by from the base
	formPlace      // the place
	formBits       = 3
)

// pairs goes through the entities of base, with their counterparts in the two other states.
type pairs struct {
	motion
	now *game.Entity // nil: it is no more

	nows, bases, befores []game.Entity // those that are left
	older, later         uint32        // ticks between the states
}

func newPairs(now, base, before *State) pairs {
	p := pairs{nows: now.Entities, bases: base.Entities, later: now.Tick - base.Tick}
	if before != nil {
		p.befores, p.older = before.Entities, base.Tick-before.Tick
	}
	return p
}

func (p *pairs) next() bool {
	if len(p.bases) == 0 {
		return false
	}
	from := &p.bases[0]
	p.bases = p.bases[1:]
	var before *game.Entity
	p.now, p.nows = find(p.nows, from.ID)
	before, p.befores = find(p.befores, from.ID)
	p.motion = goingOn(from, before, p.older, p.later)
	return true
}

// find returns the entity of an id, if there is one, and those from there on.
func find(in []game.Entity, id uint32) (*game.Entity, []game.Entity) {
	for len(in) > 0 && in[0].ID < id {
		in = in[1:]
	}
	if len(in) > 0 && in[0].ID == id {
		return &in[0], in
	}
	return nil, in
}

// asPredicted is whether the entity goes on as it went, and nothing else of it differs.
func (p *pairs) asPredicted() bool {
	return p.now != nil && p.now.X == p.x && p.now.Y == p.y && p.now.Dir == p.from.Dir && p.same()
}

// same is whether hit points and score are the same.
func (p *pairs) same() bool { return p.now.HP == p.from.HP && p.now.Score == p.from.Score }

func writeRecord(w *bitWriter, p *pairs) {
	if p.now == nil {
		w.Bits(0b1111, 4)
		return
	}
	placed := p.now.X == p.x && p.now.Y == p.y
	step, half := p.findStep()
	switch {
	case p.same() && step != other && p.aim(step) == p.now.Dir && !half:
		w.Bits(0b0, 1)
		writeStep(w, p.step, step)
	case p.same() && placed:
		w.Bits(0b10, 2)
		writeAim(w, p.now.Dir, p.from.Dir)
	case p.same() && step != other && p.aim(step) == p.now.Dir:
		w.Bits(0b110, 3)
		writeStep(w, p.step, step)
	default:
		w.Bits(0b1110, 4)
		writeAny(w, p, placed, step, half)
	}
}

// findStep finds the other step that leads to where the entity is, preferably one that also
// explains its aim.
func (p *pairs) findStep() (found int, inHalf bool) {
	found = other
	for _, half := range [...]bool{false, true} {
		for step := range steps {
			if step == p.step {
				continue
			}
			if x, y := p.turned(step, half); x != p.now.X || y != p.now.Y {
				continue
			}
			if p.aim(step) == p.now.Dir {
				return step, half
			}
			if found == other {
				found, inHalf = step, half
			}
		}
	}
	return found, inHalf
}

// writeStep writes which of the steps it is, of which last is none: 3 bits for eight; of nine the
// last two have another bit.
func writeStep(w *bitWriter, last, step int) {
	switch {
	case last == other && step >= 7:
		w.Bits(uint32(step+7), 4)
	case last != other && step > last:
		w.Bits(uint32(step-1), 3)
	default:
		w.Bits(uint32(step), 3)
	}
}

func readStep(r *bitReader, last int) int {
	step := int(r.Bits(3))
	switch {
	case last == other && step == 7:
		step += int(r.Bits(1))
	case last != other && step >= last:
		step++
	}
	return step
}

// writeAny writes a record that can have everything.
func writeAny(w *bitWriter, p *pairs, placed bool, step int, half bool) {
	form, expected := formPredicted, p.from.Dir
	pace, paced := p.findPace()
	switch {
	case placed:
	case step != other && !half:
		form, expected = formStep, p.aim(step)
	case step != other:
		form, expected = formHalf, p.aim(step)
	case paced != other:
		form, expected = formPace, p.aim(paced)
	default:
		form = p.shortest()
	}
	w.Bits(uint32(form), formBits)
	switch form {
	case formStep, formHalf:
		writeStep(w, p.step, step)
	case formPace:
		w.Bits(uint32(pace-1), 2)
		w.Bits(uint32(paced-1), 3)
	case formPrediction:
		w.Signed(p.now.X-p.x, orderPlace)
		w.Signed(p.now.Y-p.y, orderPlace)
	case formBase:
		w.Signed(p.now.X-p.from.X, orderPlace)
		w.Signed(p.now.Y-p.from.Y, orderPlace)
	case formPlace:
		writePlace(w, p.now.X, p.now.Y)
	}
	w.Flag(p.now.Dir != expected)
	if p.now.Dir != expected {
		writeAim(w, p.now.Dir, expected)
	}
	w.Flag(p.now.HP != p.from.HP)
	if p.now.HP != p.from.HP {
		w.Signed(int32(p.now.HP-p.from.HP), orderHP)
	}
	w.Flag(p.now.Score != p.from.Score)
	if p.now.Score != p.from.Score {
		w.Signed(int32(p.now.Score-p.from.Score), orderScore)
	}
}

// findPace finds how many commands of which step a tick had.
func (p *pairs) findPace() (pace int64, step int) {
	for _, pace := range paces {
		for step := 1; step < len(steps); step++ {
			if x, y := moved(p.from.X, p.from.Y, step, pace*p.ticks); x == p.now.X && y == p.now.Y {
				return pace, step
			}
		}
	}
	return 0, other
}

// shortest returns the form of a place that no step explains.
func (p *pairs) shortest() int {
	length := func(x, y int32) int {
		return signedLen(p.now.X-x, orderPlace) + signedLen(p.now.Y-y, orderPlace)
	}
	form, least := formPlace, 1+2*placeLen(p.now.X, p.now.Y)
	if n := length(p.from.X, p.from.Y); n < least {
		form, least = formBase, n
	}
	if n := length(p.x, p.y); n < least {
		form = formPrediction
	}
	return form
}

// writeAim writes an aim as the Number of the zigzag of its turn from the expected one, in 1/256;
// an aim of 256 or more is the Number itself.
func writeAim(w *bitWriter, dir, expected uint32) {
	if dir < 256 {
		turn := int32(int8(dir - expected))
		dir = uint32(turn<<1 ^ turn>>31)
	}
	w.Number(dir, orderAim)
}

func readAim(r *bitReader, expected uint32) uint32 {
	v := r.Number(orderAim)
	if v < 256 {
		return (expected + (v>>1 ^ -(v & 1))) & 255
	}
	return v
}
