package quantity

import (
	"math"
	"testing"
	"time"
)

func TestDuration(t *testing.T) {
	for text, want := range map[string]time.Duration{
		"20ms": 20 * time.Millisecond, " 20 ms ": 20 * time.Millisecond, "5min": 5 * time.Minute, "1 min 30 sec": 90 * time.Second, "1.5 Seconds": 1500 * time.Millisecond,
		"7us": 7 * time.Microsecond, "7µs": 7 * time.Microsecond, "7 μs": 7 * time.Microsecond, "30MS": 30 * time.Millisecond, "2hrs": 2 * time.Hour, "-3s": -3 * time.Second,
		"0": 0, "12 usecs": 12 * time.Microsecond, "1h5m": 65 * time.Minute, "2 minutes": 2 * time.Minute, "- 4 s": -4 * time.Second,
	} {
		if got, err := Duration(text); err != nil || got != want {
			t.Errorf("%q: %v, %v; want %v", text, got, err, want)
		}
	}
	for text, want := range map[string]string{
		"20": "it has no unit: write 20ms or 20s", "1,5ms": "write 1.5ms, with a decimal point", "2d": "the largest unit is the hour: write 48h",
		"5M": "M is not a unit of time: write 5m for minutes", "3x": `"x" is not a unit of time: write ms, s, m or h, as in 3ms`, "soon": "", "": "",
		"1,000ms": "a comma may separate thousands or decimals: write 1000ms or 1.000ms", "0,125s": "write 0.125s, with a decimal point", "1s 5": "5 at its end has no unit: write 5ms or 5s",
		"9999999999h": "it is no duration, or one of more than 292 years", "1.2.3s": "it is no duration, or one of more than 292 years", "1,000,000us": "write 1000000us",
	} {
		if _, err := Duration(text); err == nil || Hint(err) != want {
			t.Errorf("%q: %v, want %q", text, err, want)
		}
	}
}

func TestRate(t *testing.T) {
	for text, want := range map[string]float64{
		"900": 900, "900/s": 900, "900 / sec": 900, "10rps": 10, "10 req/s": 10, "1k": 1000, "1.5k/s": 1500, "2M": 2e6, "120/min": 2, "50/1s": 50, "30 rpm": 0.5,
		"7 requests per second": 7, "40 per 10s": 4, "1e3": 1000, "-5": -5,
	} {
		if got, err := Rate(text); err != nil || math.Abs(got-want) > 1e-9*math.Abs(want) {
			t.Errorf("%q: %v, %v; want %v", text, got, err, want)
		}
	}
	for text, want := range map[string]string{
		"1,5": "write 1.5, with a decimal point", "2,500/s": "a comma may separate thousands or decimals: write 2500/s or 2.500/s", "ate": "", "": "",
		"10MB/s": `"B/s" is not understood: write a number of requests per second`, "5x": `"x" is not understood: write a number of requests per second`,
	} {
		if _, err := Rate(text); err == nil || Hint(err) != want {
			t.Errorf("%q: %v, want %q", text, err, want)
		}
	}
}

func FuzzQuantity(f *testing.F) {
	for _, seed := range []string{"20 ms", "1,5", "900/s", "5min", "1k per 2 s", "μs", "-", "1.2.3s"} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, text string) {
		d, err := Duration(text)
		if want, plain := time.ParseDuration(text); plain == nil && (err != nil || d != want) {
			t.Errorf("%q is a duration of Go's, and read as %v, %v", text, d, err)
		}
		Rate(text)
	})
}
