package delta

import "dyno/services/arena/game"

// steps are where a command can move a player: nowhere, or by its heading in eighths of a turn.
// They are game.Move's, so that they are right as long as it has nine.
var steps = func() (s [9][2]int64) {
	const middle = game.Edge / 2
	for i, buttons := range [...]uint32{0, game.Right, game.Right | game.Down, game.Down, game.Down | game.Left,
		game.Left, game.Left | game.Up, game.Up, game.Up | game.Right} {
		x, y := game.Move(middle, middle, buttons)
		s[i] = [2]int64{int64(x) - middle, int64(y) - middle}
	}
	return s
}()

// other is the step of a player that moved by none of steps.
const other = -1

// eighth is a turn of the aim from one heading to the next.
const eighth = 32

// far is how many ticks may be between states for a motion to go on from one to the next.
const far = 64

// paces are how many commands of a step a tick can have, by how likely they are.
var paces = [...]int64{game.PerTick, 2 * game.PerTick, 1, 3}

// motion is what is known of an entity before its next state.
type motion struct {
	from  *game.Entity
	ticks int64 // from that state to the next
	step  int   // how it moved until then
	x, y  int32 // where it is if it goes on
}

// moved places an entity after some commands of a step. The world ends where the game's does.
func moved(x, y int32, step int, commands int64) (int32, int32) {
	if step == 0 {
		return x, y
	}
	s := &steps[step]
	return int32(min(max(int64(x)+s[0]*commands, 0), game.Edge)), int32(min(max(int64(y)+s[1]*commands, 0), game.Edge))
}

// goingOn finds how an entity moves that was at before, age ticks ago, and now is at from.
func goingOn(from, before *game.Entity, age, ticks uint32) motion {
	m := motion{from: from, ticks: int64(ticks), x: from.X, y: from.Y}
	if before == nil || ticks > far || age > far {
		return m
	}
	m.step = stepBetween(before, from, int64(age))
	if m.step != other {
		m.x, m.y = moved(from.X, from.Y, m.step, game.PerTick*m.ticks)
		return m
	}
	m.x += int32((int64(from.X) - int64(before.X)) * m.ticks / int64(age))
	m.y += int32((int64(from.Y) - int64(before.Y)) * m.ticks / int64(age))
	return m
}

// stepBetween finds the step that leads from one place to another.
func stepBetween(before, from *game.Entity, age int64) int {
	for _, pace := range paces {
		for step := range steps {
			if x, y := moved(before.X, before.Y, step, pace*age); x == from.X && y == from.Y {
				return step
			}
		}
	}
	return other
}

// turned is how an entity takes another step: in all of the ticks, or in the second half of them.
func (m *motion) turned(step int, half bool) (x, y int32) {
	if !half {
		return moved(m.from.X, m.from.Y, step, game.PerTick*m.ticks)
	}
	x, y = moved(m.from.X, m.from.Y, max(m.step, 0), game.PerTick*m.ticks/2)
	return moved(x, y, step, game.PerTick*m.ticks/2)
}

// aim is where an entity aims after a step: its heading, if it aimed so before.
func (m *motion) aim(step int) uint32 {
	dir := m.from.Dir
	follows := dir%eighth == 0 && dir < 256
	if m.step > 0 {
		follows = dir == heading(m.step)
	}
	if step > 0 && follows {
		return heading(step)
	}
	return dir
}

func heading(step int) uint32 { return uint32(step-1) * eighth }
