package corpus

import (
	"fmt"
	"math"
	"math/rand/v2"
	"sort"
	"strconv"

	"dyno/lab/workload"
)

// maxKeys bounds the table of cumulative weights: 80 MB.
const maxKeys = 10_000_000

// keySampler draws keys by inverting their cumulative distribution. Unlike rand.Zipf it accepts
// exponents of 1 and below, which most real workloads have.
type keySampler struct {
	count      int
	cumulative []float64 // cumulative weights of the keys; nil: the distribution is uniform
}

// newKeySampler returns a sampler of the load's keys; without settings (nil) it draws the same
// key each time.
func newKeySampler(of *workload.Keys) (*keySampler, error) {
	k := workload.Keys{}
	if of != nil {
		k = *of
	}
	switch {
	case k.Count < 0 || k.Count > maxKeys:
		return nil, fmt.Errorf("the number of keys is %d; it must be from 1 to %d", k.Count, maxKeys)
	case k.Zipf < 0 || math.IsNaN(k.Zipf) || k.Zipf > 10:
		return nil, fmt.Errorf("the Zipf exponent is %g; it must be from 0 (uniform) to 10", k.Zipf)
	}
	s := &keySampler{count: max(k.Count, 1)}
	if k.Zipf == 0 {
		return s, nil
	}
	s.cumulative = make([]float64, s.count)
	sum := 0.0
	for i := range s.cumulative {
		sum += math.Pow(float64(i+1), -k.Zipf)
		s.cumulative[i] = sum
	}
	return s, nil
}

func (s *keySampler) draw(rng *rand.Rand) string {
	k := 0
	if s.cumulative == nil {
		k = rng.IntN(s.count)
	} else {
		k = sort.SearchFloat64s(s.cumulative, rng.Float64()*s.cumulative[s.count-1])
	}
	return "key-" + strconv.Itoa(k)
}
