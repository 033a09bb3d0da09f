package findings

import (
	"fmt"
	"strconv"
	"time"

	"dyno/lab/diagnose/stacks"
)

// in formats the first of places: " in main.f (f.go:12)"; empty without places.
func in(where []stacks.Site) string {
	if len(where) == 0 {
		return ""
	}
	return " in " + where[0].String()
}

func percent(v float64) string {
	if v < 0.01 && v > 0 {
		return "under 1%"
	}
	return fmt.Sprintf("%.0f%%", v*100)
}

// digits keeps three significant digits, without an exponent.
func digits(v float64) string { return strconv.FormatFloat(round(v), 'f', -1, 64) }

func round(v float64) float64 {
	out, _ := strconv.ParseFloat(strconv.FormatFloat(v, 'g', 3, 64), 64) // cannot fail: FormatFloat wrote the text
	return out
}

func micros(us float64) string {
	if us >= 10_000 {
		return digits(us/1000) + " ms"
	}
	return digits(us) + " us"
}

func lasting(d time.Duration) string { return micros(float64(d) / 1e3) }

func size(bytes float64) string {
	switch {
	case bytes >= 1<<20:
		return digits(bytes/(1<<20)) + " MiB"
	case bytes >= 1<<10:
		return digits(bytes/(1<<10)) + " KiB"
	}
	return digits(bytes) + " bytes"
}
