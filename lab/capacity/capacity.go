// Package capacity finds the highest rate that a target carries within its service level objective
// (SLO), and says what a recorded search showed. Judge reads one run, Search plans the next one, Datum
// reads one number from a search, EstimateOf the rate at which slices turn from met to missed, NextRate
// plans the next of them, Summarise reads a variant's result from an experiment, and Inflections finds the
// moments in a long run at which a target gave way. Its subpackages hold the scaling fits (fit) and the
// queues that theory can predict (queueing).
//
// Everything here is a pure function of what was recorded. The package does not drive, start or probe
// anything, does not compare variants (compare), and does not say what bounds a target (diagnose). It
// starts no goroutines.
package capacity
