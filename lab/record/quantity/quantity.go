// Package quantity reads durations and rates as people write them: in Go's form, and in other
// tools' forms if their meaning is clear. For the others, the error suggests what to write.
//
// It does not check the bounds of a value: the caller knows those. It starts no goroutines.
package quantity

import (
	"cmp"
	"errors"
	"fmt"
	"math"
	"strconv"
	"strings"
	"time"
)

// Error is a text that is no quantity.
type Error struct {
	// Hint is what to write instead, or empty: "it has no unit: write 20ms or 20s".
	Hint string
}

func (e *Error) Error() string { return cmp.Or(e.Hint, "it is not understood") }

// Hint returns the Hint of an error of this package; empty: it has none, or err is another error.
func Hint(err error) string {
	if e := (*Error)(nil); errors.As(err, &e) {
		return e.Hint
	}
	return ""
}

func wrong(format string, args ...any) error { return &Error{fmt.Sprintf(format, args...)} }

// Longest is the longest time that may be measured or waited for: a month, far below what would
// overflow.
const Longest = 30 * 24 * time.Hour

// Bounded reads a duration of at most Longest.
func Bounded(text string) (time.Duration, error) {
	d, err := Duration(text)
	if err == nil && (d > Longest || d < -Longest) {
		err = wrong("it is longer than %.0fh", Longest.Hours())
	}
	return d, err
}

// longest is the length of the longest text that is read, in bytes.
const longest = 64

// units maps names of units of time to Go's.
var units = map[string]string{
	"nsec": "ns", "nanosecond": "ns", "usec": "us", "microsecond": "us", "msec": "ms", "milli": "ms", "millisecond": "ms",
	"sec": "s", "second": "s", "min": "m", "minute": "m", "hr": "h", "hour": "h",
	"ns": "ns", "us": "us", "µs": "us", "μs": "us", "ms": "ms", "s": "s", "m": "m", "h": "h", // U+00B5 and U+03BC
}

func unit(word string) (string, bool) {
	if word == "M" { // a minute, a month or a million
		return "", false
	}
	word = strings.ToLower(word)
	if u, ok := units[word]; ok {
		return u, true
	}
	u, ok := units[strings.TrimSuffix(word, "s")]
	return u, ok && len(word) > len("ns")
}

// Duration reads a duration: 20ms, 1m30s, 20 ms, 5min, 1.5 seconds.
func Duration(text string) (time.Duration, error) {
	text = strings.TrimSpace(text)
	if d, err := time.ParseDuration(text); err == nil {
		return d, nil
	}
	rest := text
	if len(text) == 0 || len(text) > longest {
		return 0, &Error{}
	}
	sign := ""
	if rest[0] == '-' || rest[0] == '+' {
		sign, rest = rest[:1], rest[1:]
	}
	canonical := ""
	for rest = strings.TrimSpace(rest); rest != ""; {
		n := strings.IndexFunc(rest, func(c rune) bool { return (c < '0' || c > '9') && c != '.' && c != ',' })
		if n == 0 {
			return 0, &Error{}
		}
		if n < 0 {
			return 0, unitless(text, rest, canonical)
		}
		number := rest[:n]
		rest = strings.TrimSpace(rest[n:])
		end := strings.IndexAny(rest, " .,0123456789")
		if end < 0 {
			end = len(rest)
		}
		word := rest[:end]
		u, ok := unit(word)
		switch {
		case strings.Contains(number, ","):
			return 0, comma(number, rest)
		case !ok && (word == "d" || strings.HasPrefix(word, "day")):
			return 0, days(number)
		case !ok && word == "M":
			return 0, wrong("M is not a unit of time: write %sm for minutes", number)
		case !ok:
			return 0, wrong("%q is not a unit of time: write ms, s, m or h, as in %sms", word, number)
		}
		canonical += number + u
		rest = strings.TrimSpace(rest[end:])
	}
	d, err := time.ParseDuration(sign + canonical)
	if err != nil {
		return 0, wrong("it is no duration, or one of more than 292 years")
	}
	return d, nil
}

// unitless explains a number that no unit follows.
func unitless(text, number, before string) error {
	switch {
	case before != "":
		return wrong("%s at its end has no unit: write %sms or %ss", number, number, number)
	case strings.Contains(number, ","):
		return comma(number, "")
	}
	return wrong("it has no unit: write %[1]sms or %[1]ss", text)
}

func days(number string) error {
	n, err := strconv.ParseFloat(number, 64)
	if err != nil {
		return &Error{}
	}
	return wrong("the largest unit is the hour: write %sh", strconv.FormatFloat(24*n, 'f', -1, 64))
}

// comma explains a number with a comma, which separates thousands or decimals.
func comma(number, unit string) error {
	point, without := strings.ReplaceAll(number, ",", "."), strings.ReplaceAll(number, ",", "")
	if head, tail, _ := strings.Cut(number, ","); strings.Count(number, ",") == 1 && len(head) <= 3 && len(tail) == 3 && !strings.Contains(number, ".") && head != "0" {
		return wrong("a comma may separate thousands or decimals: write %[1]s%[3]s or %[2]s%[3]s", without, point, unit)
	}
	if strings.Count(point, ".") > 1 {
		return wrong("write %s%s", without, unit)
	}
	return wrong("write %s%s, with a decimal point", point, unit)
}

// Rate reads a rate per second: 900, 900/s, 900 rps, 2k, 54000/min.
func Rate(text string) (float64, error) {
	text = strings.TrimSpace(text)
	if len(text) == 0 || len(text) > longest {
		return 0, &Error{}
	}
	if v, err := strconv.ParseFloat(text, 64); err == nil {
		return v, nil
	}
	n := strings.IndexFunc(text, func(c rune) bool { return (c < '0' || c > '9') && !strings.ContainsRune("+-.,", c) })
	if n < 0 {
		n = len(text)
	}
	number, rest := text[:n], strings.TrimSpace(text[n:])
	if strings.Contains(number, ",") {
		return 0, comma(number, rest)
	}
	v, err := strconv.ParseFloat(number, 64)
	if err != nil {
		return 0, &Error{}
	}
	factor := 1.0
	if rest != "" {
		switch rest[0] {
		case 'k', 'K':
			factor, rest = 1e3, strings.TrimSpace(rest[1:])
		case 'M':
			factor, rest = 1e6, strings.TrimSpace(rest[1:])
		}
	}
	per, err := perSecond(rest)
	if err != nil {
		return 0, err
	}
	if v *= factor * per; math.IsInf(v, 0) {
		return 0, &Error{}
	}
	return v, nil
}

// perSecond reads what follows the number of a rate, and returns its factor.
func perSecond(rest string) (float64, error) {
	low := strings.ToLower(rest)
	switch low {
	case "", "rps", "qps", "hz", "tps":
		return 1, nil
	case "rpm":
		return 1.0 / 60, nil
	}
	word, per, ok := strings.Cut(low, "/")
	if !ok {
		if word, per, ok = strings.Cut(low, " per "); !ok {
			if per, ok = strings.CutPrefix(low, "per "); ok {
				word = ""
			}
		}
	}
	switch strings.TrimSpace(word) {
	case "", "req", "reqs", "request", "requests", "r", "q", "calls", "call", "msgs", "messages":
	default:
		ok = false
	}
	per = strings.TrimSpace(per)
	if !ok || per == "" {
		return 0, wrong("%q is not understood: write a number of requests per second", rest)
	}
	if per[0] < '0' || per[0] > '9' {
		per = "1" + per
	}
	every, err := Duration(per)
	if err != nil || every <= 0 {
		return 0, wrong("%q is not understood: write a number of requests per second", rest)
	}
	return 1 / every.Seconds(), nil
}
