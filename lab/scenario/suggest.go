package scenario

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
