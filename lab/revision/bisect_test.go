package revision

import (
	"slices"
	"testing"

	"pgregory.net/rapid"
)

// search bisects n revisions, whose states the function of returns.
func search(n int, of func(i int) State) (states []State, measured int) {
	states = make([]State, n)
	states[n-1] = Bad
	for {
		i, done := Next(states)
		if done {
			return states, measured
		}
		states[i] = of(i)
		measured++
	}
}

func TestFindsTheFirstBad(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		n := rapid.IntRange(1, 300).Draw(t, "n")
		first := rapid.IntRange(0, n-1).Draw(t, "first")
		states, measured := search(n, func(i int) State {
			if i >= first {
				return Bad
			}
			return Good
		})
		if got := Suspects(states); !slices.Equal(got, []int{first}) {
			t.Fatalf("of %d the first bad is %d, found %v", n, first, got)
		}
		most := 0
		for left := n; left > 0; left /= 2 {
			most++
		}
		if measured > most {
			t.Fatalf("%d measured of %d, want at most %d", measured, n, most)
		}
	})
}

// A revision that cannot be judged is among the suspects, and does not exclude others.
func TestNothingIsGuessed(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		n := rapid.IntRange(1, 40).Draw(t, "n")
		first := rapid.IntRange(0, n-1).Draw(t, "first")
		dark := rapid.SliceOfN(rapid.SampledFrom([]State{Untried, Untried, Skipped, Undecided}), n, n).Draw(t, "dark")
		states, _ := search(n, func(i int) State {
			switch {
			case dark[i] != Untried:
				return dark[i]
			case i >= first:
				return Bad
			}
			return Good
		})
		got := Suspects(states)
		if !slices.Contains(got, first) {
			t.Fatalf("the first bad, %d, is not among %v (%v)", first, got, states)
		}
		for _, i := range got[:len(got)-1] {
			if states[i] != Skipped && states[i] != Undecided {
				t.Fatalf("%d is a suspect although it is %v", i, states[i])
			}
		}
	})
}

func TestLeft(t *testing.T) {
	for n, want := range map[int]int{1: 0, 2: 1, 3: 2, 8: 3, 100: 7} {
		states := make([]State, n)
		states[n-1] = Bad
		if got := Left(states); got != want {
			t.Errorf("%d revisions: %d left, want %d", n, got, want)
		}
	}
}
