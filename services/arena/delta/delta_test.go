package delta

import (
	"encoding/binary"
	"math/rand/v2"
	"slices"
	"testing"

	"dyno/services/arena/game"
)

// stateOf returns a world's state.
func stateOf(w *game.World) *State {
	s := &State{Tick: w.Tick(), Entities: w.Entities(nil)}
	s.Hash = game.Hash(s.Entities)
	return s
}

// message is what a client receives.
func message(acked uint32, now, base, before *State) []byte {
	return Append(binary.AppendUvarint([]byte{Packed}, uint64(acked)), now, base, before)
}

// A player is one of a room whose commands have a motion.
type player struct {
	random   *rand.Rand
	buttons  uint32
	aim      int32
	commands int // since it joined
	fires    bool
}

// headings are the buttons of the nine steps, and where they aim.
var headings = []uint32{0, game.Right, game.Right | game.Down, game.Down, game.Down | game.Left, game.Left, game.Left | game.Up, game.Up, game.Up | game.Right}

// another takes one of the nine steps; the aim follows.
func (p *player) another() {
	i := p.random.IntN(len(headings))
	p.buttons = headings[i]
	if i > 0 {
		p.aim = int32(i-1) << 13
	}
}

// motions have a player's next command.
var motions = map[string]func(p *player) game.Command{
	"random": func(p *player) game.Command {
		if p.commands++; p.commands%game.PerTick == 1 {
			p.another()
		}
		return game.Command{Buttons: p.buttons, Aim: p.aim}
	},
	"keyboard": func(p *player) game.Command {
		return p.keyboard(1)
	},
	"keyboard by ticks": func(p *player) game.Command {
		return p.keyboard(game.PerTick)
	},
	"keyboard and mouse": func(p *player) game.Command {
		if p.random.IntN(20) == 0 { // commands
			p.aim += int32(p.random.NormFloat64() * 4000)
		}
		c := p.keyboard(1)
		c.Aim = p.aim + 1234
		return c
	},
}

// keyboard changes its keys in half a second on average, and shoots in three seconds.
func (p *player) keyboard(each int) game.Command {
	if p.commands++; each == 1 || p.commands%each == 1 {
		if p.random.IntN(game.Hz*game.PerTick/2/each) == 0 {
			p.another()
		}
		p.fires = p.random.IntN(3*game.Hz*game.PerTick/each) == 0
	}
	c := game.Command{Buttons: p.buttons, Aim: p.aim}
	if p.fires {
		c.Buttons |= game.Fire
	}
	return c
}

// bytesPerTick plays a room of 50, and returns the bytes that a client receives in a tick on
// average, with the header of the WebSocket's frame.
func bytesPerTick(t testing.TB, ticks int, command func(w *game.World, id uint32) game.Command) float64 {
	t.Helper()
	w := game.New(1)
	for range 50 {
		w.Join()
	}
	var base, before *State
	var d Decoder
	total := 0
	for tick := range ticks {
		for id := range uint32(50) {
			for range game.PerTick {
				w.Apply(id+1, command(w, id+1))
			}
		}
		w.Step()
		w.Events()
		now := stateOf(w)
		m := message(uint32(game.PerTick*tick), now, base, before)
		got, _, err := d.Decode(m)
		if err != nil {
			t.Fatalf("tick %d: %v", now.Tick, err)
		}
		if got.Tick != now.Tick || got.Hash != now.Hash || !slices.Equal(got.Entities, now.Entities) {
			t.Fatalf("tick %d: %v, not %v", now.Tick, got, now)
		}
		total += 2 + len(m)
		if len(m) > 125 {
			total += 2
		}
		base, before = now, base
	}
	return float64(total) / float64(ticks)
}

func play(motion func(p *player) game.Command) func(w *game.World, id uint32) game.Command {
	players := make([]player, game.MaxPlayers+1)
	for i := range players {
		players[i].random = rand.New(rand.NewPCG(1, uint64(i)))
	}
	return func(_ *game.World, id uint32) game.Command { return motion(&players[id]) }
}

// The bytes that a client receives in a tick stay below these. For 5.6 kB/s at 30 Hz, the limit of
// random motion, there could be 187; for 1.25 kB/s, that of the keyboard, 41.
func TestBytes(t *testing.T) {
	limits := map[string]float64{"random": 38, "keyboard": 15.5, "keyboard by ticks": 14, "keyboard and mouse": 29}
	for name, limit := range limits {
		got := bytesPerTick(t, 600, play(motions[name]))
		t.Logf("%s: %.1f bytes a tick, %.2f kB/s", name, got, got*game.Hz/1000)
		if got > limit {
			t.Errorf("%s: %.1f bytes a tick, more than %v", name, got, limit)
		}
	}
	got := bytesPerTick(t, 600, (*game.World).Bot)
	t.Logf("bots: %.1f bytes a tick, %.2f kB/s", got, got*game.Hz/1000)
	if got > 51 {
		t.Errorf("bots: %.1f bytes a tick", got)
	}
}
