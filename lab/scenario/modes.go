package scenario

import "dyno/lab/record"

// modeTraits are what a mode needs and permits in a scenario. Checks read them and not the mode's
// name, so that a new mode is a row in modes.
type modeTraits struct {
	once     bool // one load, with a schedule and numbers of connections of its own
	listed   bool // runs at each of the rates or numbers that measure lists
	searches bool // finds its rates or numbers itself, by the SLO
	compares bool // needs two variants
	pairs    bool // a variant may name the one that it is compared with
}

var modes = map[string]modeTraits{
	record.KindLoad:     {once: true},
	record.KindSweep:    {listed: true},
	record.KindCapacity: {searches: true},
	record.KindLadder:   {searches: true, compares: true},
	record.KindCompare:  {searches: true, compares: true, pairs: true},
}

func (c *checker) mode() modeTraits { return modes[c.s.Mode] }

// defaultMode is the mode of a file that names none.
func defaultMode(sweep, variants, slo bool) string {
	switch {
	case sweep:
		return record.KindSweep
	case variants:
		return record.KindLadder
	case slo:
		return record.KindCapacity
	}
	return record.KindLoad
}
