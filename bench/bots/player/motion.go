package player

import (
	"fmt"
	"math/rand/v2"

	"dyno/services/arena/game"
)

// Kinds of motion.
const (
	Keyboard = "keyboard" // keys that change twice a second
	Random   = "random"   // another direction in each packet
)

const keyChanges = 2 // a second

// Motion is what keys a player presses, and where it aims: where it runs, or ran last. Rivals of
// arenad are played with the same.
type Motion struct {
	random  *rand.Rand
	chance  float64 // of other keys, in a packet
	buttons uint32
	aim     int32
}

// NewMotion returns the motion of the i-th player, which is the same in each run.
func NewMotion(kind string, packetsPerSecond float64, i int) (*Motion, error) {
	m := &Motion{random: rand.New(rand.NewPCG(uint64(i), 1)), chance: keyChanges / packetsPerSecond}
	switch kind {
	case Keyboard:
	case Random:
		m.chance = 1
	default:
		return nil, fmt.Errorf("motion %q is neither %s nor %s", kind, Keyboard, Random)
	}
	return m, nil
}

// Next returns the buttons of the next packet, and its aim, in 1/65536 of a turn.
func (m *Motion) Next() (buttons uint32, aim int32) {
	if m.random.Float64() < m.chance {
		m.buttons = directions[m.random.IntN(len(directions))]
	}
	if m.buttons != 0 {
		m.aim = aims[m.buttons]
	}
	return m.buttons, m.aim
}

// directions are those of eight keys, and none.
var directions = []uint32{0, game.Up, game.Down, game.Left, game.Right, game.Up | game.Left, game.Up | game.Right, game.Down | game.Left, game.Down | game.Right}

// aims are those of the directions.
var aims = func() (out [16]int32) {
	for _, d := range directions {
		x, y := game.Move(game.Edge/2, game.Edge/2, d)
		if d != 0 {
			out[d] = int32(game.Aim(x-game.Edge/2, y-game.Edge/2) << 8)
		}
	}
	return out
}()
