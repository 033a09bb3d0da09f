// Package format holds the figures of a report: values that may be unknown, intervals, lists and
// the columns of tables, and how each is written for people and in JSON. It has the texts for what
// records and analyses hold, too: runs, SLOs, comparisons and verdicts. Every form of a report and
// package live use the same ones.
//
// It reads no folder, and it does not judge. It starts no goroutines.
package format

import (
	"fmt"
	"math"
	"strconv"
	"strings"
	"time"
	"unicode"
)

// Dash stands for an unknown value.
const Dash = "–"

// Format writes about three significant digits, thousands separated, with as many decimals as its
// neighbours in a column: 9,810, 123, 12.3, 1.23, 0.045.
func Format(v Value) string {
	f := float64(v)
	switch a := math.Abs(f); {
	case !v.Known():
		return Dash
	case f == 0:
		return "0"
	case a >= 999.5:
		return separate(Significant(f, 3))
	case a >= 99.95:
		return strconv.FormatFloat(f, 'f', 0, 64)
	case a >= 9.995:
		return strconv.FormatFloat(f, 'f', 1, 64)
	case a >= 0.9995:
		return strconv.FormatFloat(f, 'f', 2, 64)
	}
	return Digits(f, 2)
}

// Round formats a configured figure, such as a bound: 100, 20, 0.5.
func Round(v Value) string {
	if math.Abs(float64(v)) >= 1000 {
		return Format(v)
	}
	return Digits(float64(v), 3)
}

// Whole formats a count that may be unknown.
func Whole(v Value) string {
	if !v.Known() {
		return Dash
	}
	return separate(float64(v))
}

// Count writes a whole number in full: 1,234,567.
func Count(n int64) string { return separate(float64(n)) }

// separate puts a comma before each group of three digits.
func separate(v float64) string {
	s := strconv.FormatFloat(math.Round(v), 'f', 0, 64)
	sign := ""
	if strings.HasPrefix(s, "-") {
		sign, s = "-", s[1:]
	}
	for i := len(s) - 3; i > 0; i -= 3 {
		s = s[:i] + "," + s[i:]
	}
	return sign + s
}

// Rate writes a rate: 9,810/s.
func Rate(v Value) string {
	if !v.Known() {
		return Dash
	}
	return Format(v) + "/s"
}

// Times writes a ratio with two decimals: 3.10x.
func Times(v Value) string {
	if !v.Known() {
		return Dash
	}
	return strconv.FormatFloat(float64(v), 'f', 2, 64) + "x"
}

// Between writes an interval of figures: [9,500, 10,100].
func Between(i *Interval) string {
	if i == nil {
		return ""
	}
	return "[" + Format(Value(i.Lo)) + ", " + Format(Value(i.Hi)) + "]"
}

// BetweenRatios writes an interval of ratios: [2.90, 3.40].
func BetweenRatios(i *Interval) string {
	if i == nil {
		return ""
	}
	return fmt.Sprintf("[%.2f, %.2f]", i.Lo, i.Hi)
}

// Percent formats a share: 0.1%. Shares too small to measure are not written out.
func Percent(v Value) string {
	switch {
	case !v.Known():
		return Dash
	case v > 0 && v < 1e-6:
		return "<0.0001%"
	}
	return Digits(float64(v)*100, 3) + "%"
}

// Size writes a number of bytes in binary units: 12.3 MiB.
func Size(v Value) string {
	if !v.Known() {
		return Dash
	}
	units := []string{"B", "KiB", "MiB", "GiB", "TiB"}
	f, u := float64(v), 0
	for math.Abs(f) >= 1024 && u < len(units)-1 {
		f, u = f/1024, u+1
	}
	return Format(Value(f)) + " " + units[u]
}

// Plural writes a number of things: 1 run, 1,200 runs.
func Plural(n int, thing string) string {
	if n == 1 {
		return "1 " + thing
	}
	return Count(int64(n)) + " " + thing + "s"
}

// Clock formats a time identically everywhere, so that two reports can be compared.
func Clock(t time.Time) string {
	if t.IsZero() {
		return ""
	}
	return t.UTC().Format("2006-01-02 15:04 UTC")
}

// Command formats a command that can be pasted into a shell.
func Command(args []string) string {
	quoted := make([]string, len(args))
	for i, a := range args {
		quoted[i] = quote(a)
	}
	return strings.Join(quoted, " ")
}

func quote(a string) string {
	plain := a != "" && strings.IndexFunc(a, func(c rune) bool {
		return !(c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || c >= '0' && c <= '9' || strings.ContainsRune("-_./:=,@%+", c))
	}) < 0
	if plain {
		return a
	}
	return "'" + strings.ReplaceAll(a, "'", `'\''`) + "'"
}

// Visible removes control characters and marks that change the writing direction. Line ends and
// tabs become spaces.
func Visible(s string) string {
	return strings.Map(func(c rune) rune {
		switch {
		case c == '\t' || c == '\n' || c == '\r':
			return ' '
		case unicode.IsControl(c) || c == unicode.ReplacementChar || unicode.In(c, unicode.Cf):
			return -1
		}
		return c
	}, s)
}

// Space adds a leading space to a non-empty text.
func Space(s string) string {
	if s == "" {
		return ""
	}
	return " " + s
}

// At adds a leading " at " to a non-empty text.
func At(s string) string {
	if s == "" {
		return ""
	}
	return " at " + s
}

// Pause formats a bound: 50 us, 2 ms, 1 s.
func Pause(ms float64) string {
	switch {
	case ms < 0.9995:
		return Round(Value(ms*1000)) + " us"
	case ms < 999.5:
		return Round(Value(ms)) + " ms"
	}
	return Round(Value(ms/1000)) + " s"
}
