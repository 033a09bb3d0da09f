package document

import (
	"fmt"
	"slices"
	"strings"
)

// Nearest returns the name that was probably meant: the one with the smallest edit distance, if
// that is at most a third of the word's length.
func Nearest(word string, names []string) (string, bool) {
	const longest = 64 // a longer word is not a misspelt name; bounds the work
	if len(word) > longest {
		return "", false
	}
	best, limit := "", len(word)/3+1
	for _, name := range names {
		if len(name) > longest {
			continue
		}
		if d := distance(word, name); d < limit {
			best, limit = name, d
		}
	}
	return best, best != ""
}

// distance returns the number of letters to insert, delete, replace or swap with their neighbour
// to get from a to b (optimal string alignment).
func distance(a, b string) int {
	before, last, row := make([]int, len(b)+1), make([]int, len(b)+1), make([]int, len(b)+1)
	for j := range row {
		row[j] = j
	}
	for i := range a {
		before, last, row = last, row, before
		row[0] = i + 1
		for j := range b {
			cost := 1
			if a[i] == b[j] {
				cost = 0
			}
			row[j+1] = min(last[j+1]+1, row[j]+1, last[j]+cost)
			if i > 0 && j > 0 && a[i] == b[j-1] && a[i-1] == b[j] {
				row[j+1] = min(row[j+1], before[j-1]+1)
			}
		}
	}
	return row[len(b)]
}

// DidYouMean suggests, for a message, the nearest of the names, or lists them all.
func DidYouMean(word string, names []string) string {
	if near, ok := Nearest(word, names); ok {
		return fmt.Sprintf("did you mean %q?", near)
	}
	if len(names) == 1 {
		return "the only one is " + names[0]
	}
	return "expected one of " + strings.Join(slices.Sorted(slices.Values(names)), ", ")
}

// Clip shortens a quotation in a message.
func Clip(s string) string {
	const most = 60
	if len(s) <= most {
		return s
	}
	return strings.ToValidUTF8(s[:most], "") + "..."
}
