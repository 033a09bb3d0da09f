package agent

import (
	"math"
	"math/rand/v2"
	"net/http"
	"net/http/httptest"
	"slices"
	"strconv"
	"strings"
	"testing"
	"testing/synctest"
	"time"
)

func request(sent string) *http.Request {
	r := httptest.NewRequest("GET", "/", nil)
	if sent != "" {
		r.Header.Set("X-Start-Time-US", sent)
	}
	return r
}

func ago(d time.Duration) string { return strconv.FormatInt(time.Now().Add(-d).UnixMicro(), 10) }

// about reports whether a gauge shows a duration, in ms, as the upper bound of its bucket.
func about(got, want float64) bool { return got >= want && got <= want*1.126 }

func TestStartTimeSplitsLatency(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		a := New(Config{})
		defer a.Close()
		served := 0
		h := a.StartTime(http.HandlerFunc(func(http.ResponseWriter, *http.Request) {
			served++
			time.Sleep(7 * time.Millisecond)
		}))
		other := a.StartTime(http.HandlerFunc(func(http.ResponseWriter, *http.Request) {
			defer func() { recover() }()
			time.Sleep(20 * time.Millisecond)
			panic("no")
		}))
		l := join(t, a)
		if s := next(t, l); len(s.Gauges) != 0 {
			t.Errorf("gauges %v before any request", s.Gauges)
		}
		h.ServeHTTP(nil, request(ago(30*time.Millisecond)))
		h.ServeHTTP(nil, request(ago(30*time.Millisecond)))
		other.ServeHTTP(nil, request(ago(2*time.Millisecond)))
		s := next(t, l)
		for name, want := range map[string]float64{"queue_ms_p50": 30, "queue_ms_p99": 30, "handler_ms_p50": 7, "handler_ms_p99": 20} {
			if got, ok := s.Gauges[name]; !ok || !about(got, want) {
				t.Errorf("%s = %v, want about %v", name, got, want)
			}
		}
		if served != 2 {
			t.Errorf("served %d", served)
		}
		h.ServeHTTP(nil, request(""))
		s = next(t, l)
		if _, ok := s.Gauges["queue_ms_p50"]; ok || !about(s.Gauges["handler_ms_p99"], 7) {
			t.Errorf("gauges %v after one request without the header", s.Gauges)
		}
	})
}

func TestQueueing(t *testing.T) {
	const now = 1_700_000_000_000_000 // us
	for _, c := range []struct {
		name    string
		headers []string
		want    time.Duration
		ok      bool
	}{
		{"just now", []string{"1700000000000000"}, 0, true},
		{"a while ago", []string{"1699999999750000"}, 250 * time.Millisecond, true},
		{"a minute ago", []string{"1699999940000000"}, time.Minute, true},
		{"longer ago", []string{"1699999939999999"}, 0, false},
		{"in the future", []string{"1700000000000001"}, 0, false},
		{"in ms", []string{"1700000000000"}, 0, false},
		{"in ns", []string{"1700000000000000000"}, 0, false},
		{"as nginx writes it", []string{"t=1700000000.000"}, 0, false},
		{"negative", []string{"-5"}, 0, false},
		{"empty", []string{""}, 0, false},
		{"none", nil, 0, false},
		{"two", []string{"1700000000000000", "1700000000000000"}, 0, false},
	} {
		got, ok := queueing(c.headers, time.UnixMicro(now))
		if ok != c.ok || ok && got != c.want {
			t.Errorf("%s: %v, %v, want %v, %v", c.name, got, ok, c.want, c.ok)
		}
	}
}

func TestStartTimeAllocatesNothing(t *testing.T) {
	a := New(Config{})
	h := a.StartTime(http.HandlerFunc(func(http.ResponseWriter, *http.Request) {}))
	for name, r := range map[string]*http.Request{"with the header": request(ago(0)), "with nonsense in it": request("yesterday"), "without": request("")} {
		if n := testing.AllocsPerRun(100, func() { h.ServeHTTP(nil, r) }); n != 0 {
			t.Errorf("%s: %v allocations a request", name, n)
		}
	}
}

// A gauge's quantile is that of the sorted durations since it was read last, and at most an eighth
// above.
func TestDurationsAgreeWithSorting(t *testing.T) {
	seeded(t, func(t *testing.T, r *rand.Rand) {
		var d durations
		q := 0.01 + 0.99*r.Float64()
		read := d.quantile(q)
		for range 1 + r.IntN(3) {
			took := make([]time.Duration, 1+r.IntN(50))
			for i := range took {
				took[i] = time.Duration(math.Pow(10, 3+7.8*r.Float64())) // 1 us to 63 s
				d.add(took[i])
			}
			slices.Sort(took)
			want := took[int(math.Ceil(q*float64(len(took))))-1].Truncate(time.Microsecond)
			got := read()
			if low := float64(want) / 1e6; got <= low || got > max(low*1.126, low+0.00101) {
				t.Fatalf("quantile %v of %v is %v ms", q, took, got)
			}
		}
		if got := read(); !math.IsNaN(got) {
			t.Fatalf("%v ms of nothing", got)
		}
	})
}

func TestDurationsTakeAnything(t *testing.T) {
	var d durations
	for _, v := range []time.Duration{math.MinInt64, -1, 0, math.MaxInt64} {
		d.add(v)
	}
	if first, last := d.counts[0].Load(), d.counts[durationBuckets-1].Load(); first != 3 || last != 1 {
		t.Errorf("%d in the first bucket and %d in the last", first, last)
	}
}

func BenchmarkStartTime(b *testing.B) {
	h := New(Config{}).StartTime(http.HandlerFunc(func(http.ResponseWriter, *http.Request) {}))
	b.ReportAllocs()
	b.RunParallel(func(p *testing.PB) {
		r := request(ago(0))
		for p.Next() {
			h.ServeHTTP(nil, r)
		}
	})
}

func FuzzDecimal(f *testing.F) {
	for _, seed := range []string{"", "0", "17", "-1", "+1", " 1", "1e3", "007", strings.Repeat("9", maxDigits), strings.Repeat("9", maxDigits+1)} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, text string) {
		got, ok := decimal(text)
		want, err := strconv.ParseUint(text, 10, 63)
		if valid := err == nil && len(text) <= maxDigits; ok != valid || ok && got != int64(want) {
			t.Errorf("decimal(%q) = %d, %v; want %d, %v", text, got, ok, want, valid)
		}
	})
}
