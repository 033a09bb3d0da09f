package runs

import (
	"crypto/sha256"
	"fmt"
	"slices"
	"time"

	"dyno/lab/record"
)

const (
	// speedWork is a fixed amount of work, in bytes to hash: about a millisecond.
	speedWork = 1 << 20
	// speedTries is the number of repetitions; only the fastest counts, so a preemption does no
	// harm.
	speedTries = 5
	// speedSpread bounds how far the fast and the slow tenth of an experiment's runs may differ,
	// as a share of the median, if the machine counts as quiet.
	speedSpread = 0.10
)

// machineSpeed measures how fast the machine currently does a fixed amount of work, in MB/s. If
// other guests of the host share its cores, the machine slows down, and none of its own counters
// shows it.
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

// SpeedWarning returns a warning if the machine's speed changed during the experiment; empty: it
// did not.
func SpeedWarning(runs []*record.Run) string {
	var speeds []float64
	for _, r := range runs {
		if r.System.Speed > 0 {
			speeds = append(speeds, r.System.Speed)
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
	return fmt.Sprintf("the machine was not quiet: its speed at a fixed piece of work varied from %.0f to %.0f MB/s between runs, so capacities may be wrong by the same ratio", slow, fast)
}
