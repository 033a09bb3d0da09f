package index

import (
	"slices"
	"testing"
)

func FuzzParsePlaces(f *testing.F) {
	f.Add([]byte{0, 3, 1})
	f.Fuzz(func(t *testing.T, b []byte) {
		positions, err := parsePlaces(b)
		if err == nil && !slices.IsSorted(positions) {
			t.Fatal(positions)
		}
	})
}
