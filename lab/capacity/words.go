package capacity

import (
	"cmp"
	"fmt"
	"maps"
	"math"
	"slices"
	"strconv"

	"dyno/lab/record"
)

// sorted are a map's keys in order.
func sorted[K cmp.Ordered, V any](m map[K]V) []K { return slices.Sorted(maps.Keys(m)) }

// perS formats a rate.
func perS(rate float64) string { return strconv.FormatFloat(round(rate), 'f', -1, 64) + "/s" }

func count(n int64) string { return strconv.FormatInt(n, 10) }

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

// round keeps four digits, the precision of every table.
func round(rate float64) float64 {
	if rate <= 0 {
		return 0
	}
	unit := math.Pow(10, math.Floor(math.Log10(rate))-3)
	if unit < 1 {
		return math.Round(rate*math.Round(1/unit)) / math.Round(1/unit)
	}
	return math.Round(rate/unit) * unit
}
