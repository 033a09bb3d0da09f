package game

import (
	"testing"

	"pgregory.net/rapid"
)

func add(t *testing.T, w *World, x, y int32) uint32 {
	t.Helper()
	id := w.Join()
	if id == 0 {
		t.Fatal("no place")
	}
	w.bodies[id].X, w.bodies[id].Y = x, y
	return id
}

func TestMove(t *testing.T) {
	for _, test := range []struct {
		buttons uint32
		x, y    int32
	}{
		{0, 1000, 1000}, {Right, 1064, 1000}, {Left, 936, 1000}, {Up, 1000, 936}, {Down, 1000, 1064},
		{Right | Down, 1045, 1045}, {Left | Right, 1000, 1000}, {Left | Right | Up, 1000, 936}, {Fire, 1000, 1000}, {1 << 20, 1000, 1000},
	} {
		if x, y := Move(1000, 1000, test.buttons); x != test.x || y != test.y {
			t.Errorf("buttons %d: (%d, %d), not (%d, %d)", test.buttons, x, y, test.x, test.y)
		}
	}
	if x, y := Move(Edge, 0, Right|Up); x != Edge || y != 0 {
		t.Errorf("beyond the corner: (%d, %d)", x, y)
	}
}

// A shot hits what the shooter saw, as long as it was not longer ago than Rewind.
func TestRewind(t *testing.T) {
	for age, hits := range map[uint32]bool{1: true, Rewind: true, Rewind + 1: false, Rewind + 20: false} {
		w := New(1)
		shooter, target := add(t, w, 1000, 16000), add(t, w, 8000, 16000)
		for range 40 {
			w.Step()
		}
		seen := w.Tick()
		w.bodies[target].Y = 24000 // from now on it is not on the line
		for range age {
			w.Step()
		}
		w.Apply(shooter, Command{Buttons: Fire, ViewTick: seen})
		if e, _ := w.Entity(target); (e.HP < Full) != hits {
			t.Errorf("a view %d ticks old: hit %t", age, e.HP < Full)
		}
	}
}

// The nearest of two on a line is hit, four shots kill, a shot needs time before the next, and the
// dead begin again.
func TestKill(t *testing.T) {
	w := New(1)
	shooter, near, far := add(t, w, 1000, 16000), add(t, w, 8000, 16100), add(t, w, 16000, 16000)
	w.Step()
	for range 4 * reload {
		w.Apply(shooter, Command{Buttons: Fire})
	}
	e, _ := w.Entity(near)
	if other, _ := w.Entity(far); e.HP != 0 || other.HP != Full {
		t.Fatalf("hit points %d of the nearest, %d of the other", e.HP, other.HP)
	}
	if e, _ := w.Entity(shooter); e.Score != perKill {
		t.Errorf("score %d", e.Score)
	}
	w.Apply(near, Command{Buttons: Right})
	if now, _ := w.Entity(near); now.X != e.X {
		t.Error("the dead move")
	}
	for range dead {
		w.Step()
	}
	if now, _ := w.Entity(near); now.HP != Full || now.X == e.X && now.Y == e.Y {
		t.Errorf("after its time it is %+v", now)
	}
}

func TestAim(t *testing.T) {
	for _, test := range []struct {
		dx, dy int32
		dir    uint32
	}{{1000, 0, 0}, {0, 1000, 64}, {-1000, 0, 128}, {0, -1000, 192}, {700, 700, 32}} {
		if got := Aim(test.dx, test.dy); got != test.dir || Direction(int32(got<<8)) != got {
			t.Errorf("(%d, %d): direction %d, not %d", test.dx, test.dy, got, test.dir)
		}
	}
	if Direction(-1) != 0 || Direction(-256) != 255 || Direction(65536) != 0 {
		t.Error("angles beyond a turn")
	}
}

// Worlds to which the same happens stay the same; no player leaves the world, and none has more
// than its hit points.
func TestSame(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		a, b := New(7), New(7)
		steps := rapid.SliceOfN(rapid.IntRange(0, 5), 1, 200).Draw(t, "steps")
		for _, step := range steps {
			id := uint32(rapid.IntRange(0, 6).Draw(t, "id"))
			command := Command{Buttons: rapid.Uint32Range(0, 31).Draw(t, "buttons"), Aim: rapid.Int32().Draw(t, "aim"), ViewTick: rapid.Uint32Range(0, 300).Draw(t, "seen")}
			for _, w := range []*World{a, b} {
				switch step {
				case 0:
					w.Join()
				case 1:
					w.Leave(id)
				case 2, 3:
					w.Apply(id, command)
				case 4:
					w.Apply(id, w.Bot(id))
				case 5:
					w.Step()
				}
			}
		}
		if Hash(a.Entities(nil)) != Hash(b.Entities(nil)) {
			t.Fatal("two worlds differ")
		}
		for _, e := range a.Entities(nil) {
			if e.X < 0 || e.X > Edge || e.Y < 0 || e.Y > Edge || e.HP > Full {
				t.Fatalf("%+v", e)
			}
		}
	})
}

// A tick of a full room allocates nothing once its slices have grown.
func TestAllocations(t *testing.T) {
	w := New(1)
	for range 50 {
		w.Join()
	}
	var entities []Entity
	if got := testing.AllocsPerRun(200, func() {
		for id := uint32(1); id <= 50; id++ {
			w.Apply(id, w.Bot(id))
		}
		w.Step()
		w.Events()
		entities = w.Entities(entities[:0])
		Hash(entities)
	}); got != 0 {
		t.Errorf("%v allocations a tick", got)
	}
}
