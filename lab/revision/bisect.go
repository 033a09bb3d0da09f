package revision

// State is what a bisection knows of a revision.
type State int

// States of a revision.
const (
	Untried   State = iota
	Good            // it passes the gate
	Bad             // it misses the gate
	Skipped         // it does not build or does not run
	Undecided       // it was measured, and its interval contains the bound
)

// Next returns the index of the revision to measure next: of the untried ones between the last good
// one and the first bad one after it, the one closest to the middle. done means that there is none.
// states are in the order of the commits. The revision before the first must be good, and the last
// counts as bad.
func Next(states []State) (index int, done bool) {
	good, bad := bounds(states)
	middle, best := (good+bad)/2, -1
	for i := good + 1; i < bad; i++ {
		if states[i] == Untried && (best < 0 || distance(i, middle) < distance(best, middle)) {
			best = i
		}
	}
	return best, best < 0
}

// Suspects returns the revisions that may be the first bad one, after Next has returned done. If
// there are several, all but the last were skipped or undecided.
func Suspects(states []State) (indexes []int) {
	good, bad := bounds(states)
	for i := good + 1; i <= bad; i++ {
		indexes = append(indexes, i)
	}
	return indexes
}

// Left estimates the number of revisions that must still be measured.
func Left(states []State) int {
	good, bad := bounds(states)
	untried := 0
	for i := good + 1; i < bad; i++ {
		if states[i] == Untried {
			untried++
		}
	}
	steps := 0
	for ; untried > 0; untried /= 2 {
		steps++
	}
	return steps
}

// bounds returns the first bad revision, or the last one if none is bad, and the last good one
// before it; -1: none in states is good, only the one before the first.
func bounds(states []State) (good, bad int) {
	good, bad = -1, len(states)-1
	for i, s := range states {
		if s == Bad {
			bad = i
			break
		}
	}
	for i := range bad {
		if states[i] == Good {
			good = i
		}
	}
	return good, bad
}

func distance(a, b int) int { return max(a-b, b-a) }
