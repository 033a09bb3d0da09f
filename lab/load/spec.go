package load

import (
	"errors"
	"fmt"
	"math"
	"time"

	"dyno/lab/workload"
)

// ScheduleSpec describes a schedule, so that another process can make the same schedule.
type ScheduleSpec struct {
	Kind      string           `json:"kind"`            // one of the kinds of workload.Schedule except Closed
	PerSecond float64          `json:"per_s,omitempty"` // rate of constant and poisson; the initial rate of a ramp
	To        float64          `json:"to_per_s,omitempty"`
	Length    time.Duration    `json:"length_ns,omitempty"`
	Seed      uint64           `json:"seed,omitempty"`
	Stages    []workload.Stage `json:"stages,omitempty"`
	Times     []int64          `json:"times_ns,omitempty"` // the times in the file of workload.File
}

// Open returns the schedule from its beginning.
func (s ScheduleSpec) Open() Schedule {
	switch s.Kind {
	case workload.Constant:
		return Constant(s.PerSecond, s.Length)
	case workload.Poisson:
		return Poisson(s.PerSecond, s.Length, s.Seed)
	case workload.Ramp:
		return Ramp(s.PerSecond, s.To, s.Length)
	case workload.Stepwise:
		return Steps(s.Stages)
	}
	return Times(s.Times)
}

// Check returns an error if the description, which may come from another process, is invalid.
func (s ScheduleSpec) Check() error {
	const most = 1e9 // requests per second
	rates := []float64{s.PerSecond, s.To}
	lengths := []time.Duration{s.Length}
	for _, st := range s.Stages {
		rates, lengths = append(rates, st.Rate), append(lengths, st.Length)
	}
	for _, r := range rates {
		if !(r >= 0 && r <= most) {
			return fmt.Errorf("a rate of %g per second is outside 0 to %g", r, most)
		}
	}
	for _, l := range lengths {
		if l < 0 || l > math.MaxInt64/4 {
			return fmt.Errorf("a length of %v is not possible", l)
		}
	}
	last := int64(0)
	for _, at := range s.Times {
		if at < last || at > math.MaxInt64/4 {
			return fmt.Errorf("the time %d ns comes after %d ns", at, last)
		}
		last = at
	}
	switch s.Kind {
	case workload.Constant, workload.Poisson, workload.Ramp, workload.Stepwise, workload.File:
		return nil
	}
	return errors.New("the kind of schedule is unknown: " + s.Kind[:min(len(s.Kind), 40)])
}
