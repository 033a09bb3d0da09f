package daemon

import (
	"fmt"
	"strings"
)

// unknown is the error for a name that does not exist: it lists those that do and puts the likeliest first.
func unknown(kind, name string, exist []string) error {
	if len(exist) == 0 {
		return usageError{fmt.Errorf("unknown %s %q: this service has none", kind, name)}
	}
	hint := ""
	if n := nearest(name, exist); n != "" {
		hint = fmt.Sprintf("did you mean %q? ", n)
	}
	return usageError{fmt.Errorf("unknown %s %q: %sthere are %s", kind, name, hint, strings.Join(exist, ", "))}
}

// nearest returns the candidate that a slip of the pen may have turned into name, or "" when none is
// within a third of its length.
func nearest(name string, candidates []string) string {
	best, near := max((len(name)+1)/3, 1)+1, ""
	for _, c := range candidates {
		if d := distance(name, c); d < best {
			best, near = d, c
		}
	}
	return near
}

// distance is Levenshtein's: how many bytes must be put in, taken out or replaced.
func distance(a, b string) int {
	row := make([]int, len(b)+1) // distances of a's prefix to every prefix of b
	for j := range row {
		row[j] = j
	}
	for i := range len(a) {
		diagonal := row[0]
		row[0] = i + 1
		for j := range len(b) {
			above := row[j+1]
			cost := diagonal
			if a[i] != b[j] {
				cost = 1 + min(diagonal, above, row[j])
			}
			row[j+1], diagonal = cost, above
		}
	}
	return row[len(b)]
}
