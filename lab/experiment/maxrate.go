package experiment

import (
	"errors"
	"fmt"
	"time"

	"dyno/lab/load"
)

// withinMaxRate returns an error if a plan may offer more than the scenario permits within any
// second. A search stays below it on its own; a load with a given rate is refused rather than
// reduced.
func withinMaxRate(p *load.Plan, perSecond, most float64) error {
	switch {
	case most == 0:
		return nil
	case !p.Open():
		return errors.New("a closed model sends as fast as answers arrive, so max_rate cannot limit it: give a rate")
	case perSecond > 0 && perSecond <= most:
		return nil // a steady rate, apart from random variation
	}
	var second []int64 // the offers of the last second
	s := p.Schedule()
	for at, ok := s.Next(); ok; at, ok = s.Next() {
		second = append(second, at)
		for at-second[0] >= int64(time.Second) {
			second = second[1:]
		}
		if float64(len(second)) > most {
			return fmt.Errorf("the schedule offers more than max_rate, %g per second, at %s", most, time.Duration(at).Round(time.Millisecond))
		}
	}
	return nil
}
