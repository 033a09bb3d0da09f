package experiment

import (
	"context"
	"os"
	"time"

	"dyno/agent/monotonic"
	"dyno/lab/probe"
)

const (
	// calmWait is how long to wait for neighbours before a run is repeated.
	calmWait = 20 * time.Second
	// calmShare is the part of the machine that neighbours may use for it to count as calm: half of what
	// spoils a run.
	calmShare = 0.05
	// calmSpan is how long the machine is watched at a time.
	calmSpan = time.Second
)

// awaitCalm returns when the machine's other processes have left it alone for a second, or when it has
// waited long enough: the next run then says for itself whether it counts.
func awaitCalm(ctx context.Context, cores int, longest time.Duration) error {
	w, err := probe.Watch(ctx, probe.Options{PID: os.Getpid()})
	if err != nil {
		return err
	}
	defer w.Close()
	tick := time.NewTicker(calmSpan)
	defer tick.Stop()
	for deadline := time.Now().Add(longest); time.Now().Before(deadline); {
		from := monotonic.Now()
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-tick.C:
		}
		if s := w.Surroundings(from, monotonic.Now()); s.Seen && s.OthersCPU < calmShare*float64(cores) {
			return nil
		}
	}
	return nil
}
