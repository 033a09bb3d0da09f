package delta

import (
	"testing"

	"dyno/services/arena/game"
	"dyno/services/arena/wire"
)

// played returns the states of some ticks of a room of 50.
func played(ticks int, command func(w *game.World, id uint32) game.Command) []*State {
	w := game.New(1)
	for range 50 {
		w.Join()
	}
	states := make([]*State, ticks)
	for i := range states {
		for id := range uint32(50) {
			for range game.PerTick {
				w.Apply(id+1, command(w, id+1))
			}
		}
		w.Step()
		w.Events()
		states[i] = stateOf(w)
	}
	return states
}

func TestAllocations(t *testing.T) {
	states := played(64, play(motions["random"]))
	dst := make([]byte, 0, 4096)
	i := 2
	if got := testing.AllocsPerRun(50, func() {
		dst = Append(dst[:0], states[i], states[i-1], states[i-2])
		dst = Append(dst[:0], states[i], nil, nil)
		i++
	}); got != 0 {
		t.Errorf("%v allocations of an encoding", got)
	}
	var messages [][]byte
	for i := 2; i < len(states); i++ {
		messages = append(messages, message(0, states[i], states[i-1], states[i-2]))
	}
	var d Decoder
	for _, m := range [][]byte{message(0, states[0], nil, nil), message(0, states[1], states[0], nil), messages[0]} {
		if _, _, err := d.Decode(m); err != nil {
			t.Fatal(err)
		}
	}
	i = 1
	if got := testing.AllocsPerRun(50, func() {
		if _, _, err := d.Decode(messages[i]); err != nil {
			t.Fatal(err)
		}
		i++
	}); got != 0 {
		t.Errorf("%v allocations of a decoding", got)
	}
}

func BenchmarkAppend(b *testing.B) {
	for name, command := range map[string]func(w *game.World, id uint32) game.Command{
		"random": play(motions["random"]), "keyboard": play(motions["keyboard"]), "bots": (*game.World).Bot,
	} {
		states := played(64, command)
		b.Run(name, func(b *testing.B) {
			dst := make([]byte, 0, 4096)
			b.ReportAllocs()
			for i := 0; b.Loop(); i++ {
				at := 2 + i%(len(states)-2)
				dst = Append(dst[:0], states[at], states[at-1], states[at-2])
			}
		})
	}
}

func BenchmarkDecode(b *testing.B) {
	for name, command := range map[string]func(w *game.World, id uint32) game.Command{"random": play(motions["random"]), "keyboard": play(motions["keyboard"])} {
		states := played(64, command)
		var messages [][]byte
		var base, before *State
		for _, s := range states {
			messages = append(messages, message(0, s, base, before))
			base, before = s, base
		}
		b.Run(name, func(b *testing.B) {
			var d Decoder
			b.ReportAllocs()
			for i := 0; b.Loop(); i++ {
				if _, _, err := d.Decode(messages[i%len(messages)]); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}

// BenchmarkState writes what a client receives of a room of 50 players with keyboards in a tick: all
// of it, what has changed, and what is not as predicted. B/message is the mean size of 10 s.
func BenchmarkState(b *testing.B) {
	states := played(10*game.Hz, play(motions["keyboard"]))
	for _, way := range []struct {
		name  string
		write func(at int) []byte
	}{
		{"whole", func(at int) []byte { return whole(b, states[at]) }},
		{"delta", func(at int) []byte { return message(0, states[at], states[at-1], nil) }},
		{"predicted", func(at int) []byte { return message(0, states[at], states[at-1], states[at-2]) }},
	} {
		size := 0
		for at := 2; at < len(states); at++ {
			size += len(way.write(at))
		}
		b.Run(way.name, func(b *testing.B) {
			for i := 0; b.Loop(); i++ {
				way.write(2 + i%(len(states)-2))
			}
			b.ReportMetric(float64(size)/float64(len(states)-2), "B/message")
		})
	}
}

// whole is a state in Protobuf.
func whole(b *testing.B, s *State) []byte {
	out := &wire.Snapshot{Tick: s.Tick, Hash: s.Hash}
	for _, e := range s.Entities {
		out.Entities = append(out.Entities, &wire.Entity{Id: e.ID, X: e.X, Y: e.Y, Dir: e.Dir, Hp: e.HP, Score: e.Score})
	}
	text, err := (&wire.ServerFrame{Body: &wire.ServerFrame_Snapshot{Snapshot: out}}).MarshalVT()
	if err != nil {
		b.Fatal(err)
	}
	return text
}
