// Package capacity finds the highest rate at which a target meets its service level objective
// (SLO), from recorded runs and slices. CheckSLO reads one run, CheckSlice one slice, Concurrency
// plans the next run of a job, PeakOf reads the highest throughput of a job from its runs, and
// Summarise reads a variant's result from an experiment. FitTrials fits the rate at which slices
// turn from met to missed, and NextRate plans the next slice. Inflections finds the moments of a
// long run at which rate, latency and garbage collection changed together. Package scaling fits
// curves of throughput over concurrency.
//
// Every function depends only on recorded data. The package is not for driving, starting or probing
// a target, for comparing variants (package compare), or for finding a bottleneck (package
// diagnose). It starts no goroutines.
package capacity
