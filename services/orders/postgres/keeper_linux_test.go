package postgres

import "testing"

func TestParentIn(t *testing.T) {
	for stat, want := range map[string]int{
		"17 (postgres) S 4 17 17 0": 4,
		"17 (a) b) (c) S 4 17":      4,
		"17 (postgres) S":           -1,
		"17 (postgres) S x":         -1,
		"17 (postgres":              -1,
		"":                          -1,
	} {
		parent, ok := parentIn([]byte(stat))
		if ok != (want >= 0) || ok && parent != want {
			t.Errorf("%q: %d %v, want %d", stat, parent, ok, want)
		}
	}
}

func FuzzParentIn(f *testing.F) {
	f.Add([]byte("17 (postgres) S 4 17 17 0"))
	f.Fuzz(func(_ *testing.T, stat []byte) { parentIn(stat) }) // must not panic
}
