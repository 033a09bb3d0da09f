package refusal

import (
	"fmt"
	"maps"
	"slices"
	"strings"
)

// Unknown is the error for a name that does not exist. It lists those that do, in their order, and
// suggests the likeliest.
func Unknown(kind, name string, exist ...string) error {
	hint := ""
	if n := Nearest(name, exist); n != "" {
		hint = fmt.Sprintf("did you mean %q? ", n)
	}
	return fmt.Errorf("unknown %s %q; %sthere are %s", kind, name, hint, strings.Join(exist, ", "))
}

// Pick returns what a table has under a name, or an Unknown error.
func Pick[T any](kind string, table map[string]T, name string) (T, error) {
	found, ok := table[name]
	if !ok {
		return found, Unknown(kind, name, slices.Sorted(maps.Keys(table))...)
	}
	return found, nil
}

// Nearest returns the candidate that a typing mistake may have turned into name, or "" when none is
// within a third of its length.
func Nearest(name string, candidates []string) string {
	const longest = 64 // bytes; a longer name is no typing mistake, and this bounds the work
	if len(name) > longest {
		return ""
	}
	best, near := max((len(name)+1)/3, 1)+1, ""
	for _, c := range candidates {
		if d := distance(name, c); d < best {
			best, near = d, c
		}
	}
	return near
}

// distance is how many bytes must be put in, taken out, replaced or swapped with their neighbour
// (optimal string alignment): form is one from from.
func distance(a, b string) int {
	above, row, next := make([]int, len(b)+1), make([]int, len(b)+1), make([]int, len(b)+1)
	for j := range row {
		row[j] = j // distances of a's prefix to every prefix of b
	}
	for i := range len(a) {
		next[0] = i + 1
		for j := range len(b) {
			next[j+1] = 1 + min(row[j+1], next[j], row[j])
			if a[i] == b[j] {
				next[j+1] = row[j]
			}
			if i > 0 && j > 0 && a[i] == b[j-1] && a[i-1] == b[j] {
				next[j+1] = min(next[j+1], above[j-1]+1)
			}
		}
		above, row, next = row, next, above
	}
	return row[len(b)]
}
