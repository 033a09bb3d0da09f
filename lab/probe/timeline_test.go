package probe

import (
	"math"
	"testing"

	"dyno/lab/probe/usage"

	"pgregory.net/rapid"
)

// steady returns the reading at boundary k of a target that uses a constant number of cores, and
// whose memory is k bytes.
func steady(k int64, cores float64) reading {
	return reading{usage.Reading{At: k * window, CPU: float64(k*window) / 1e9 * cores, RSS: k}}
}

func TestTimelineKeepsTheLastMinutesInFull(t *testing.T) {
	var tl timeline[reading]
	const first, total = 1000, recentMoments + 500
	for k := int64(first); k < first+total; k++ {
		tl.add(steady(k, 1))
	}
	if _, ok := tl.at(first + 499); ok {
		t.Error("more than the last minutes are kept in full")
	}
	for k := int64(first + 500); k < first+total; k++ {
		if r, ok := tl.at(k); !ok || r.RSS != k {
			t.Fatalf("boundary %d holds %+v, %v", k, r, ok)
		}
	}
	if _, ok := tl.at(first + total); ok {
		t.Error("the future is known")
	}
	if !tl.passed(first+total-1) || tl.passed(first+total) {
		t.Error("passed does not report past boundaries")
	}
}

func TestTimelineFillsShortGaps(t *testing.T) {
	var tl timeline[reading]
	tl.add(steady(100, 2))
	tl.add(steady(104, 2))
	tl.add(steady(104, 2)) // again
	tl.add(steady(103, 2)) // late
	for k := int64(101); k < 104; k++ {
		r, ok := tl.at(k)
		if want := steady(k, 2); !ok || r.At != want.At || math.Abs(r.CPU-want.CPU) > 1e-9 || r.RSS != 104 {
			t.Errorf("boundary %d holds %+v, %v", k, r, ok)
		}
	}
	tl.add(steady(104+maxFilled+2, 2))
	if _, ok := tl.at(105); ok {
		t.Error("a gap of more than a second was made up")
	}
	if r, ok := tl.at(104 + maxFilled + 2); !ok || r.RSS != 104+maxFilled+2 {
		t.Errorf("after the gap: %+v, %v", r, ok)
	}
	far := int64(104 + 10*recentMoments)
	tl.add(steady(far, 2))
	if r, ok := tl.at(far); !ok || r.RSS != far || tl.next-tl.first != 1 {
		t.Errorf("after a long gap: %+v, %v, %d kept", r, ok, tl.next-tl.first)
	}
	if _, last, ok := tl.span(100*window, far*window); !ok || last.RSS != far {
		t.Error("the time before a long gap was lost")
	}
}

// A run of days takes bounded memory, and its spans still have the right sums and extremes.
func TestTimelineOfDays(t *testing.T) {
	var tl timeline[reading]
	const total = int64(3 * 24 * 3600 * 10)
	for k := int64(1); k <= total; k++ {
		r := steady(k, 1.5)
		r.RSS = 1000
		if k == total/3 {
			r.RSS = 5000
		}
		tl.add(r)
	}
	if len(tl.past) >= maxPast || len(tl.recent) != recentMoments {
		t.Errorf("%d past and %d recent moments are kept", len(tl.past), len(tl.recent))
	}
	for _, span := range [][2]int64{{1, total}, {total / 4, total / 2}, {total - 100, total}, {total / 2, total - 5}} {
		a, b, ok := tl.span(span[0]*window, span[1]*window)
		if !ok {
			t.Fatalf("%v is not known", span)
		}
		if got := usage.Rate(a.CPU, b.CPU, a.At, b.At); math.Abs(got-1.5) > 1e-6 {
			t.Errorf("%v: %v cores, want 1.5", span, got)
		}
		peak := int64(1000)
		if span[0] < total/3 && span[1] > total/3 {
			peak = 5000
		}
		if b.RSS != peak {
			t.Errorf("%v: peak %d, want %d", span, b.RSS, peak)
		}
		if step := int64(tl.step) * window; span[1] == total && b.At != total*window || a.At < span[0]*window-step || a.At > span[0]*window+step {
			t.Errorf("%v: runs from %d to %d", span, a.At/window, b.At/window)
		}
	}
}

// If sums grow evenly, those of a span are right at its two instants, whichever readings were
// missed. (At most 100 readings, up to 25 boundaries apart: all are kept at full resolution.)
func TestSpanInterpolates(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		var tl timeline[reading]
		k := rapid.Int64Range(1, 1e6).Draw(t, "first")
		first := k
		for range rapid.IntRange(2, 100).Draw(t, "readings") {
			r := steady(k, 1)
			r.At += rapid.Int64Range(-window/2+1, window/2-1).Draw(t, "late")
			r.CPU = float64(r.At) / 1e9
			tl.add(r)
			k += rapid.Int64Range(1, 25).Draw(t, "step")
		}
		from := rapid.Int64Range(first, k).Draw(t, "from")
		to := rapid.Int64Range(from, k+10).Draw(t, "to")
		a, b, ok := tl.span(from*window, to*window)
		if !ok {
			if to > from && to < tl.next && from >= first {
				t.Fatalf("%d to %d of %d to %d is not known", from, to, first, tl.next)
			}
			return
		}
		if a.At >= b.At || math.Abs(usage.Rate(a.CPU, b.CPU, a.At, b.At)-1) > 1e-6 {
			t.Fatalf("from %+v to %+v", a, b)
		}
		if end := min(to, tl.next-1) * window; abs(b.At-end) > window/2+1 || abs(a.At-from*window) > window/2+1 {
			t.Fatalf("%d to %d became %d to %d", from, to, a.At/window, b.At/window)
		}
	})
}

func abs(v int64) int64 { return max(v, -v) }

func TestEmptyTimeline(t *testing.T) {
	var tl timeline[reading]
	if _, _, ok := tl.span(0, math.MaxInt64/2); ok {
		t.Error("nothing has a span")
	}
	tl.add(steady(5, 1))
	if _, _, ok := tl.span(0, math.MaxInt64/2); ok {
		t.Error("one moment has a span")
	}
	if _, ok := tl.at(4); ok || tl.passed(5) == false {
		t.Error("what came before the first moment is known")
	}
}
