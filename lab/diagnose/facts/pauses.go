package facts

import (
	"math"
	"slices"

	"dyno/lab/record"
)

// Mode is a group of the garbage collector's pauses.
type Mode struct {
	Ms    float64 // upper bound of the octave with the most pauses
	Count int64   // of the whole group
}

// leastMode is the smallest share of the pauses that counts as a group: fewer are outliers.
const leastMode = 0.05

// Modes reports whether a histogram has two separate modes. The pauses are counted by octave of
// their length (the runtime's buckets are quarters of an octave, so each octave has the same number
// of buckets). There are two modes where the count falls from one peak into a valley and rises to
// another: the lower peak must exceed the valley by three standard deviations of the difference of
// the two counts (Poisson: the root of their sum) and be at least twice as high, and each side must
// hold a twentieth of all. Peaks are then at least two octaves apart, a factor of four.
func Modes(pauses []record.PauseBucket) (short, long Mode, two bool) {
	octaves, first := byOctave(pauses)
	valley, lower := -1, 0.0
	for i := 1; i < len(octaves)-1; i++ {
		peak := math.Min(slices.Max(octaves[:i]), slices.Max(octaves[i+1:]))
		here := octaves[i]
		if peak >= 2*here && peak-here > 3*math.Sqrt(peak+here) && peak-here > lower {
			valley, lower = i, peak-here
		}
	}
	if valley < 0 {
		return Mode{}, Mode{}, false
	}
	// The valley's own pauses count as short ones.
	short, long = group(octaves[:valley+1], first), group(octaves[valley+1:], first+valley+1)
	all := float64(short.Count + long.Count)
	return short, long, float64(short.Count) >= leastMode*all && float64(long.Count) >= leastMode*all
}

// byOctave counts pauses by octave of their length in ns; the first element is that of octave
// first.
func byOctave(pauses []record.PauseBucket) (counts []float64, first int) {
	for _, p := range pauses {
		if p.Count <= 0 || !(p.UpToMs > 0) || math.IsInf(p.UpToMs, 0) {
			continue
		}
		const rounding = 1e-6 // a bound that is a power of two of ns ends its octave
		o := int(math.Ceil(math.Log2(p.UpToMs*1e6) - rounding))
		if len(counts) == 0 {
			first = o
		}
		for ; o < first; first-- {
			counts = append([]float64{0}, counts...)
		}
		for o-first >= len(counts) {
			counts = append(counts, 0)
		}
		counts[o-first] += float64(p.Count)
	}
	return counts, first
}

func group(counts []float64, first int) Mode {
	m := Mode{}
	peak := -1.0
	for i, c := range counts {
		m.Count += int64(c)
		if c > peak {
			peak = c
			m.Ms = math.Exp2(float64(first+i)) / 1e6
		}
	}
	return m
}
