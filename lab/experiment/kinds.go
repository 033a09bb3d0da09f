package experiment

import (
	"context"
	"time"

	"dyno/lab/record"
)

// kind says how experiments of one kind are carried out.
type kind struct {
	run func(*executor, context.Context) error
	// counted replaces run if the load is a number of concurrent units or sessions; nil: run does
	// both.
	counted func(*executor, context.Context) error
	// budgets are the time limits after building, by depth, if variants take turns in slices;
	// nil: the experiment takes as long as its plan needs.
	budgets map[Depth]time.Duration
	several map[Depth]time.Duration // budgets for more than two variants; nil: budgets holds
	// invalid explains why an experiment with runs has no valid result; nil: that follows from
	// its runs and slices.
	invalid func(*record.Experiment) string

	alone       bool          // measures only the first variant, to find its capacity
	compares    bool          // compares each variant with its reference
	steps       bool          // each variant is a step of a ladder, and is profiled
	once        bool          // takes each run once, even if the run is invalid
	quickWarmup time.Duration // longest warm-up of a run at depth Quick; 0: any
}

var ladderBudgets = map[Depth]time.Duration{Quick: 2 * time.Minute, Default: 4 * time.Minute, Thorough: 20 * time.Minute}

// kinds are the kinds of experiment, by the scenario's mode.
var kinds = map[string]kind{
	record.KindLadder: {run: (*executor).ladder, counted: (*executor).byConcurrency, budgets: ladderBudgets, steps: true},
	record.KindCompare: {run: (*executor).compare, counted: (*executor).byConcurrency, compares: true, several: ladderBudgets,
		budgets: map[Depth]time.Duration{Quick: time.Minute, Default: 4 * time.Minute, Thorough: 15 * time.Minute}},
	record.KindCapacity: {run: (*executor).capacity, counted: (*executor).byConcurrency, alone: true,
		budgets: map[Depth]time.Duration{Quick: 30 * time.Second, Default: 90 * time.Second, Thorough: 5 * time.Minute}},
	record.KindSweep:    {run: (*executor).sweep, quickWarmup: quickSweepWarmup},
	record.KindDiagnose: {run: (*executor).diagnose, invalid: undiagnosed},
	record.KindLoad:     {run: (*executor).load, once: true},
}
