package game

// Direction is the direction of an aim, in 1/256 of a turn.
func Direction(aim int32) uint32 { return (uint32(aim) + 128) >> 8 & 255 }

// towards returns a vector of length one in a direction.
func towards(dir uint32) (x, y int64) { return turns[dir&255], turns[(dir+192)&255] }

// Aim returns the direction from a point to another that is (dx, dy) away.
func Aim(dx, dy int32) uint32 {
	best, most := uint32(0), int64(-1)<<62
	for dir := range uint32(256) {
		x, y := towards(dir)
		if along := x*int64(dx) + y*int64(dy); along > most {
			best, most = dir, along
		}
	}
	return best
}

// shoot hits the nearest player on the line of a shot, where the shooter saw it: at a tick that is
// at most Rewind before this one.
func (w *World) shoot(from *body, seen uint32) {
	oldest := w.tick - min(w.tick, Rewind)
	if seen == 0 || seen > w.tick {
		seen = w.tick
	}
	at := &w.past[max(seen, oldest)%uint32(len(w.past))]
	x, y := towards(from.Dir)
	var hit *body
	nearest := int64(reach) * one
	for id := uint32(1); id <= w.last; id++ {
		b := &w.bodies[id]
		if !b.present || b.HP == 0 || b == from {
			continue
		}
		dx, dy := int64(at[id].x-from.X), int64(at[id].y-from.Y)
		along, beside := dx*x+dy*y, dx*y-dy*x
		if along >= 0 && along < nearest && max(beside, -beside) <= radius*one {
			hit, nearest = b, along
		}
	}
	event := Event{Kind: Shot, Player: from.ID, X: from.X, Y: from.Y}
	if hit != nil {
		event.Other = hit.ID
	}
	w.events = append(w.events, event)
	if hit == nil {
		return
	}
	if hit.HP -= min(hit.HP, damage); hit.HP == 0 {
		hit.until = w.tick + dead
		from.Score += perKill
		w.events = append(w.events, Event{Kind: Kill, Player: from.ID, Other: hit.ID, X: hit.X, Y: hit.Y})
	}
}

// Bot is a command of a player that the room plays: it wanders, and shoots at the nearest. It is
// the same in each world of the same seed and history.
func (w *World) Bot(id uint32) Command {
	b := &w.bodies[id]
	r := mix(w.seed^uint64(id)<<40, uint64(w.tick/20))
	c := Command{Buttons: uint32(r) & (Up | Down | Left | Right), Aim: int32(r >> 48)}
	near, x, y := int64(300*Scale), int32(0), int32(0)
	for other := uint32(1); other <= w.last; other++ {
		o := &w.bodies[other]
		dx, dy := o.X-b.X, o.Y-b.Y
		if away := max(int64(dx), -int64(dx)) + max(int64(dy), -int64(dy)); o.present && o.HP > 0 && other != id && away < near {
			near, x, y = away, dx, dy
		}
	}
	if x != 0 || y != 0 {
		c.Aim = int32(Aim(x, y) << 8)
		if (uint64(w.tick)+r)%64 < PerTick { // a shot in two seconds
			c.Buttons |= Fire
		}
	}
	return c
}
