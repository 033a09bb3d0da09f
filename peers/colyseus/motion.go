package main

import (
	"fmt"
	"math/rand/v2"
)

// commands is what a player does in a tick: two commands of a sixtieth of a second, with the
// buttons of services/arena/game, and where it aims, in 1/256 of a turn.
type commands struct{ first, second, aim byte }

// keys are the four that move a player; with opposite ones down it stands.
const keys = 1 | 2 | 4 | 8

// perChange is the mean number of ticks from one change of keyboard motion to the next: 0.5 s.
const perChange = 15

// motion returns what each tick of a player is. A change draws which keys are down, and an aim.
func motion(kind string, player int) (next func() commands, err error) {
	draw := rand.New(rand.NewPCG(1, uint64(player))) // every run gets the same
	every := perChange
	switch kind {
	case "random":
		every = 1
	case "keyboard":
	default:
		return nil, fmt.Errorf("--motion %s: there are keyboard and random", kind)
	}
	var now commands
	change := func() {
		r := draw.Uint32()
		now = commands{byte(r & keys), byte(r & keys), byte(r >> 24)}
	}
	change()
	return func() commands {
		if draw.IntN(every) == 0 {
			change()
		}
		return now
	}, nil
}
