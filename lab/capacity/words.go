package capacity

import (
	"fmt"
	"maps"
	"slices"
)

// sorted are a map's keys in order.
func sorted(m map[string]float64) []string { return slices.Sorted(maps.Keys(m)) }

// perS writes a rate for people.
func perS(rate float64) string { return fmt.Sprintf("%.4g/s", rate) }
