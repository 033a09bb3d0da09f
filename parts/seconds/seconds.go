// Package seconds reads the seconds that other programs write in decimal: those of header fields of
// HTTP, and the dates in tokens. A number may have any number of digits, so that one that is too
// large to hold is a very long time, never none (RFC 9111, 1.2.2).
//
// It is not for settings of our own, which are refused where they are out of range.
package seconds

import (
	"errors"
	"math"
	"net/http"
	"strconv"
	"strings"
	"time"
)

// Longest stands for every time that is at least as long.
const Longest = time.Duration(math.MaxInt64)

// Delta reads delta-seconds, which are digits only; false: the text is something else.
func Delta(text string) (time.Duration, bool) {
	if text == "" || strings.Trim(text, "0123456789") != "" {
		return 0, false
	}
	n, err := strconv.ParseUint(text, 10, 64)
	if err != nil || n > uint64(Longest/time.Second) {
		return Longest, true
	}
	return time.Duration(n) * time.Second, true
}

// RetryAfter reads the field of that name (RFC 9110, 10.2.3), which is delta-seconds or a date; 0
// for a date that has passed, and for anything else.
func RetryAfter(text string, now time.Time) time.Duration {
	if d, ok := Delta(text); ok {
		return d
	}
	at, err := http.ParseTime(text)
	if err != nil {
		return 0
	}
	return max(at.Sub(now), 0)
}

// Date is a NumericDate of a JSON Web Token (RFC 7519, 2): seconds since 1970, which may have a
// fraction, and may be written with an exponent. The fraction is dropped.
type Date int64

// farAway is beyond all dates that are compared, and leaves room for sums: in the year 36812.
const farAway = 1 << 40

var errDate = errors.New("a date in a token is a number of seconds since 1970")

// UnmarshalJSON reads a number.
func (d *Date) UnmarshalJSON(text []byte) error {
	f, err := strconv.ParseFloat(string(text), 64)
	if err != nil && !errors.Is(err, strconv.ErrRange) || math.IsNaN(f) {
		return errDate
	}
	*d = Date(math.Floor(min(max(f, -farAway), farAway)))
	return nil
}
