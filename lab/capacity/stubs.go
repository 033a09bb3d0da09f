package capacity

import (
	"time"

	"dyno/lab/record"
)

// Summarise reads a variant's capacity from an experiment.
func Summarise(exp *record.Experiment, variant string) Result { return Result{} }

// Thresholds of the joint inflection detector. The zero value asks for the defaults.
type Thresholds struct {
	RateFall      float64       // share of the rate that is lost; 0: 0.40
	P99RiseMs     float64       // 0: 300
	P99Factor     float64       // multiple of the running median; 0: 3
	PauseMs       float64       // one GC pause; 0: 200
	PauseMinuteMs float64       // sum of GC pauses within a minute; 0: 500
	Window        time.Duration // length over which rate and p99 are taken; 0: 1 s
	Near          time.Duration // signals this close to one another are joint; 0: 5 s
}

// Signal is one threshold passed.
type Signal struct {
	At      int64   `json:"t_ns"`
	Kind    string  `json:"kind"` // rate | p99 | gc
	Value   float64 `json:"value"`
	Was     float64 `json:"was"` // the reference
	InWords string  `json:"in_words"`
}

// Inflection is a moment at which rate, p99 and GC gave way together.
type Inflection struct {
	At      int64    `json:"t_ns"`
	Signals []Signal `json:"signals"`
	InWords string   `json:"in_words"`
}

// Inflections finds the joint inflections of a series, and the signals that stood alone.
func Inflections(series []record.Window, t Thresholds) (joint []Inflection, alone []Signal) {
	return nil, nil
}
