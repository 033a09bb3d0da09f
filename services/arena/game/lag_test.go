package game

import (
	"testing"

	"pgregory.net/rapid"
)

// running returns a world in which a target has run down across a shooter's line for some ticks,
// and the tick in which it was on the line.
func running(t *testing.T, ticks int) (w *World, shooter, target, onLine uint32) {
	t.Helper()
	w = New(1)
	shooter, target = add(t, w, 1000, 16000), add(t, w, 8000, 16000-20*PerTick*stride)
	for range 20 + ticks {
		for range PerTick {
			w.Apply(target, Command{Buttons: Down})
		}
		w.Step()
		if w.bodies[target].Y == 16000 {
			onLine = w.Tick()
		}
	}
	return w, shooter, target, onLine
}

// hits reports whether a shot of a player that sees a tick costs the target hit points.
func hits(w *World, shooter, target, seen uint32) bool {
	before := w.bodies[target].HP
	w.Apply(shooter, Command{Buttons: Fire, ViewTick: seen})
	return w.bodies[target].HP < before
}

// A player that shoots at what it sees hits a running target however old its view is, up to the
// cap. With an older view it hits what was there at the cap: a body that still covers the line.
func TestLaggedShots(t *testing.T) {
	const covered = radius / (PerTick * stride) // ticks in which a runner covers the line
	for age := range 30 {
		w, shooter, target, seen := running(t, age)
		if got, want := hits(w, shooter, target, seen), age <= Rewind+covered; got != want {
			t.Errorf("a view %d ticks old: hit %v", age, got)
		}
	}
}

// A view of no tick, or of one to come, is of the newest.
func TestViewsOfOtherTicks(t *testing.T) {
	for age, want := range map[int]bool{0: true, 5: false} {
		for _, seen := range []uint32{0, 26, 100, 1 << 31, 1<<32 - 1} {
			w, shooter, target, _ := running(t, age)
			if got := hits(w, shooter, target, seen); got != want {
				t.Errorf("the target was on the line %d ticks ago, a view of tick %d in tick %d: hit %v", age, seen, w.Tick(), got)
			}
		}
	}
}

// A player that began elsewhere, or that took the place of one that left, is not hit where another
// body was.
func TestShotsAtThePast(t *testing.T) {
	for name, replace := range map[string]func(w *World, target uint32){
		"began again": func(w *World, target uint32) { w.begin(&w.bodies[target]) },
		"another": func(w *World, target uint32) {
			w.Leave(target)
			if id := w.Join(); id != target {
				t.Errorf("joined as %d", id)
			}
		},
		"left": func(w *World, target uint32) { w.Leave(target) },
		"dead": func(w *World, target uint32) { w.bodies[target].HP = 0 },
	} {
		w, shooter, target, seen := running(t, 3)
		replace(w, target)
		if b := &w.bodies[target]; b.present && b.HP > 0 && b.Y > 16000-radius && b.Y < 16000+radius {
			t.Fatalf("%s: it is on the line again", name)
		}
		if hits(w, shooter, target, seen) {
			t.Errorf("%s: hit", name)
		}
	}
}

// Whatever commands a player sends, in whatever order, each moves it by no more than its stride,
// in a straight line or aslant, and it never shoots more often than it reloads.
func TestSpeedIsNeverExceeded(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		w := New(rapid.Uint64().Draw(rt, "seed"))
		id := w.Join()
		w.Events()
		shots, commands := 0, rapid.IntRange(1, 100).Draw(rt, "commands")
		for range commands {
			before, _ := w.Entity(id)
			w.Apply(id, Command{
				Buttons:  rapid.OneOf(rapid.Uint32Range(0, 31), rapid.Uint32()).Draw(rt, "buttons"),
				Aim:      rapid.Int32().Draw(rt, "aim"),
				ViewTick: rapid.Uint32().Draw(rt, "view"),
			})
			for _, e := range w.Events() {
				if e.Kind == Shot {
					shots++
				}
			}
			after, _ := w.Entity(id)
			if dx, dy := int64(after.X-before.X), int64(after.Y-before.Y); dx*dx+dy*dy > stride*stride {
				rt.Fatalf("from (%d, %d) to (%d, %d)", before.X, before.Y, after.X, after.Y)
			}
			if rapid.Bool().Draw(rt, "step") {
				w.Step()
				w.Events()
			}
		}
		if most := 1 + (commands-1)/reload; shots > most {
			rt.Fatalf("%d shots in %d commands", shots, commands)
		}
	})
}
