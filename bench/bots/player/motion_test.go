package player

import (
	"testing"

	"dyno/services/arena/game"
)

// Keyboard motion changes twice a second, random motion in each packet, and both run in eight
// directions and stand.
func TestMotion(t *testing.T) {
	const packets, rate = 30_000, 30
	for kind, want := range map[string]float64{Random: 8.0 / 9, Keyboard: 8.0 / 9 * keyChanges / rate} {
		m, err := NewMotion(kind, rate, 1)
		if err != nil {
			t.Fatal(err)
		}
		seen, changes := map[uint32]bool{}, 0.0
		before, _ := m.Next()
		for range packets {
			buttons, aim := m.Next()
			if buttons != before {
				changes++
			}
			before, seen[buttons] = buttons, true
			if x, _ := game.Move(1000, 1000, buttons); buttons&game.Right != 0 && (x <= 1000 || game.Direction(aim) > 32 && game.Direction(aim) < 224) {
				t.Fatalf("with buttons %d it aims at %d", buttons, aim)
			}
		}
		if got := changes / packets; got < 0.9*want || got > 1.1*want || len(seen) != len(directions) {
			t.Errorf("%s: %v changes in a packet, not %v; %d directions", kind, got, want, len(seen))
		}
	}
	if _, err := NewMotion("x", rate, 1); err == nil {
		t.Error("a motion that does not exist")
	}
}
