package facts

import (
	"math"
	"math/rand/v2"
	"testing"

	"dyno/lab/record"
)

// bucketed counts durations by the runtime's buckets, which are quarters of each octave of ns.
func bucketed(ms []float64) []record.PauseBucket {
	counts := map[float64]int64{}
	for _, v := range ms {
		ns := v * 1e6
		octave := math.Exp2(math.Floor(math.Log2(ns)))
		upTo := octave * (1 + math.Ceil((ns/octave-1)*4)/4)
		counts[upTo/1e6]++
	}
	var out []record.PauseBucket
	for upTo, n := range counts {
		out = append(out, record.PauseBucket{UpToMs: upTo, Count: n})
	}
	return out
}

// pauses draws n pauses around ms, log-normally with this standard deviation (of the natural
// logarithm).
func pauses(rng *rand.Rand, n int, ms, spread float64) []float64 {
	var out []float64
	for range n {
		out = append(out, ms*math.Exp(rng.NormFloat64()*spread))
	}
	return out
}

// Of samples with one mode, of any width and number, hardly any may be found to have two; of
// samples with two modes a factor of 20 apart nearly all must. The draws are seeded.
func TestModesErrors(t *testing.T) {
	rng := rand.New(rand.NewPCG(3, 4))
	const draws = 300
	wrong, missed := 0, 0
	for range draws {
		n := 20 + rng.IntN(2000)
		if _, _, two := Modes(bucketed(pauses(rng, n, 0.1, 0.2+1.3*rng.Float64()))); two {
			wrong++
		}
		n = 200 + rng.IntN(2000)
		both := append(pauses(rng, n, 0.1, 0.4), pauses(rng, n/5, 2, 0.4)...)
		if _, _, two := Modes(bucketed(both)); !two {
			missed++
		}
	}
	t.Logf("of %d each: %d found two modes in one, %d missed the second", draws, wrong, missed)
	if wrong > draws/100 || missed > draws/20 {
		t.Error("more than 1% or 5%")
	}
}
