// Package capacity finds the highest rate at which a target meets its service level objective
// (SLO), from recorded runs and slices. Judge reads one run, Concurrency plans the next run of a
// job, Sample reads one capacity from runs at several rates, EstimateOf fits the rate at which
// slices turn from met to missed, NextRate plans the next slice, Summarise reads a variant's result
// from an experiment, and Inflections finds the moments of a long run at which rate, p99 and GC
// pauses changed together. The subpackages are fit (scaling curves) and queueing (queueing theory).
//
// Every function depends only on recorded data. The package is not for driving, starting or probing
// a target, for comparing variants (package compare), or for finding a bottleneck (package
// diagnose). It starts no goroutines.
package capacity
