package capacity

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strconv"
)

// sorted are a map's keys in order.
func sorted[K cmp.Ordered, V any](m map[K]V) []K { return slices.Sorted(maps.Keys(m)) }

// perS writes a rate for people.
func perS(rate float64) string { return strconv.FormatFloat(round(rate), 'f', -1, 64) + "/s" }

func count(n int64) string { return strconv.FormatInt(n, 10) }

// plural puts a number before the words that fit it.
func plural(n int, one, many string) string {
	if n == 1 {
		return "1 " + one
	}
	return fmt.Sprintf("%d %s", n, many)
}
