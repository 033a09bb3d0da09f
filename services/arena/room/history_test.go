package room

import (
	"slices"
	"testing"

	"dyno/services/arena/delta"
	"dyno/services/arena/game"
)

// Each state of the last 10 s is found as it was, and no other.
func TestHistory(t *testing.T) {
	w, h := game.New(3), new(history)
	all := map[uint32]delta.State{}
	for tick := uint32(1); tick <= 25*game.Hz; tick++ {
		switch tick % 50 {
		case 1, 20, 21:
			w.Join()
		case 30:
			w.Leave(tick % 7)
		}
		for id := uint32(1); id < 100; id++ {
			if _, ok := w.Entity(id); ok {
				w.Apply(id, w.Bot(id))
			}
		}
		w.Step()
		s := h.next(tick)
		s.Entities = w.Entities(s.Entities)
		s.Hash = game.Hash(s.Entities)
		h.keep(s)
		all[tick] = delta.State{Tick: tick, Hash: s.Hash, Entities: slices.Clone(s.Entities)}
		if tick%97 != 0 {
			continue
		}
		for back := uint32(0); back < min(tick, seconds*game.Hz); back += 3 {
			want := all[tick-back]
			got, ok := h.find(tick - back)
			if !ok || got.Tick != want.Tick || got.Hash != want.Hash || !slices.Equal(got.Entities, want.Entities) {
				t.Fatalf("at tick %d, the state of %d is %v, %+v", tick, tick-back, ok, got)
			}
		}
		for _, none := range []uint32{0, tick + 1, tick + perGroup, tick + groups*perGroup, 1 << 31, 1<<32 - 1} {
			if got, ok := h.find(none); ok {
				t.Errorf("at tick %d, there is a state of %d: %+v", tick, none, got.Tick)
			}
		}
		if old := tick - min(tick, groups*perGroup); old > 0 {
			if _, ok := h.find(old); ok {
				t.Errorf("at tick %d, there is still a state of %d", tick, old)
			}
		}
	}
}
