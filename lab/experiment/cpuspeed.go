package experiment

import (
	"crypto/sha256"
	"fmt"
	"slices"
	"time"

	"dyno/lab/record"
)

const (
	// speedWork is a piece of fixed work, in bytes to hash: about a millisecond.
	speedWork = 1 << 20
	// speedTries is how often it is done; the fastest counts, so that a preemption does not.
	speedTries = 5
	// speedSpread is how far apart, as a share of the median, the slow and the fast tenth of an experiment's
	// runs may find the machine before it does not count as quiet.
	speedSpread = 0.10
)

// machineSpeed is how fast the machine does a fixed piece of work just now, in MB/s. A host whose other
// guests share its cores slows down without any counter of this machine showing it.
func machineSpeed() float64 {
	block := make([]byte, speedWork)
	best := time.Duration(1 << 62)
	for range speedTries {
		began := time.Now()
		sha256.Sum256(block)
		best = min(best, time.Since(began))
	}
	return speedWork / 1e6 / best.Seconds()
}

// speedWarning says so if the machine's own speed changed while the experiment ran; "" if it did not.
func speedWarning(runs []*record.Run) string {
	var speeds []float64
	for _, r := range runs {
		if r.Environment.Speed > 0 {
			speeds = append(speeds, r.Environment.Speed)
		}
	}
	if len(speeds) < 5 {
		return ""
	}
	slices.Sort(speeds)
	slow, middle, fast := speeds[len(speeds)/10], speeds[len(speeds)/2], speeds[len(speeds)-1-len(speeds)/10]
	if fast-slow <= speedSpread*middle {
		return ""
	}
	return fmt.Sprintf("the machine was not quiet: its speed at a fixed piece of work varied from %.0f to %.0f MB/s between runs, so capacities may be out by as much", slow, fast)
}
