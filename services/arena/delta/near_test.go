package delta

import (
	"math"
	"slices"
	"testing"

	"dyno/services/arena/game"
)

func TestNear(t *testing.T) {
	all := []game.Entity{{ID: 1, X: 0}, {ID: 3, X: 100}, {ID: 4, X: 100, Y: 101}, {ID: 9, X: math.MaxInt32, Y: math.MinInt32}}
	for _, test := range []struct {
		viewer uint32
		radius int32
		want   []uint32
	}{
		{1, 99, []uint32{1}}, {1, 100, []uint32{1, 3}}, {3, 101, []uint32{1, 3, 4}}, {9, 0, []uint32{9}}, {1, math.MaxInt32, []uint32{1, 3, 4}},
		{4, -1, []uint32{4}}, {2, 1, []uint32{1, 3, 4, 9}},
	} {
		var got []uint32
		for _, e := range Near(nil, all, test.viewer, test.radius) {
			got = append(got, e.ID)
		}
		if !slices.Equal(got, test.want) {
			t.Errorf("player %d sees %v in a radius of %d, not %v", test.viewer, got, test.radius, test.want)
		}
	}
}

// Each client decodes what it sees, while others come into sight and leave it; it receives less
// than those that see all.
func TestSeen(t *testing.T) {
	const viewer, radius = 7, 200 * game.Scale
	var base, before *State
	var d Decoder
	seen, all, entered, left := 0, 0, 0, 0
	states := played(300, play(motions["keyboard"]))
	for i, s := range states[2:] {
		now := &State{Tick: s.Tick, Entities: Near(nil, s.Entities, viewer, radius)}
		now.Hash = game.Hash(now.Entities)
		m := message(0, now, base, before)
		got, _, err := d.Decode(m)
		if err != nil || !slices.Equal(got.Entities, now.Entities) {
			t.Fatalf("tick %d: %v, %v", s.Tick, got, err)
		}
		if base != nil {
			for range joined(now.Entities, base.Entities) {
				entered++
			}
			for range joined(base.Entities, now.Entities) {
				left++
			}
			seen += len(m)
			all += len(message(0, s, states[i+1], states[i]))
		}
		base, before = now, base
	}
	if entered == 0 || left == 0 || 3*seen > 2*all {
		t.Errorf("%d came into sight, %d left; %d bytes, %d of all", entered, left, seen, all)
	}
}
