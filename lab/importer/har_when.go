package importer

import (
	"math"
	"strconv"
	"strings"
	"time"
)

// timeLayouts are the forms of a time that programs write: ISO 8601 with and without a zone, in its
// extended and basic form, and those of HTTP and JavaScript. A fraction of a second may follow in
// all of them.
var timeLayouts = []string{
	"2006-01-02T15:04:05Z07:00", "2006-01-02T15:04:05Z0700", "2006-01-02T15:04:05Z07", "2006-01-02T15:04:05 Z07:00", "2006-01-02T15:04:05 Z0700",
	"20060102T150405Z0700", "2006-01-02T15:04Z07:00", time.RFC1123, time.RFC1123Z, time.RFC850, time.UnixDate, "Mon Jan 02 2006 15:04:05 GMT-0700",
}

// zonelessLayouts are the forms without a zone.
var zonelessLayouts = []string{"2006-01-02T15:04:05", "20060102T150405", "2006-01-02T15:04", time.ANSIC}

// moment parses a time, and reports whether it has a zone.
func moment(s string) (at time.Time, zoned, ok bool) {
	s = strings.TrimSpace(s)
	if f, err := strconv.ParseFloat(s, 64); err == nil { // since 1970: in seconds, ms or us
		for _, unit := range []float64{1, 1e3, 1e6} {
			if seconds := f / unit; seconds > 1e8 && seconds < 1e10 { // from 1973 to 2286
				return time.UnixMicro(int64(math.Round(seconds * 1e6))).UTC(), true, true
			}
		}
		return at, false, false
	}
	s, _, _ = strings.Cut(s, " (") // JavaScript names the zone after its offset
	if len(s) > 10 && s[10] == ' ' && s[4] == '-' {
		s = s[:10] + "T" + s[11:]
	}
	s = strings.Replace(strings.Replace(s, "t", "T", 1), " UTC", "Z", 1)
	if strings.HasSuffix(s, "z") {
		s = strings.TrimSuffix(s, "z") + "Z"
	}
	for i, all := range [][]string{timeLayouts, zonelessLayouts} {
		for _, layout := range all {
			if at, err := time.Parse(layout, s); err == nil {
				return at, i == 0, true
			}
		}
	}
	return at, false, false
}
