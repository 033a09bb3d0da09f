package capacity

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strconv"

	"dyno/lab/record"
)

// sorted are a map's keys in order.
func sorted[K cmp.Ordered, V any](m map[K]V) []K { return slices.Sorted(maps.Keys(m)) }

// PerS writes a rate with four digits, the precision of every table.
func PerS(rate float64) string { return strconv.FormatFloat(RoundRate(rate), 'f', -1, 64) + "/s" }

// plural formats a number with the noun that fits it.
func plural(n int, one, many string) string {
	if n == 1 {
		return "1 " + one
	}
	return fmt.Sprintf("%d %s", n, many)
}

// grouped formats a number with thousands separators.
func grouped(n int) string {
	if n < 1000 {
		return strconv.Itoa(n)
	}
	return fmt.Sprintf("%d,%03d", n/1000, n%1000)
}

// tightest names the quantile on which an SLO's verdict depends.
func tightest(slo record.SLO) string {
	if len(slo.Latency) == 1 {
		return sorted(slo.Latency)[0]
	}
	return "p99"
}
