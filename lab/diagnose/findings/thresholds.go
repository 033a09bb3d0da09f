package findings

import "time"

// Thresholds above which a finding is reported. Shares of the CPU are of the service's own samples.
const (
	// leastSamples is how many samples a CPU profile needs, as CPU time at pprof's 100 Hz: the
	// standard error of a share of 10% is then about a third of it.
	leastSamples = 1 * time.Second

	// hotShare is of the CPU time: without it a CPU-bound capacity would rise by a ninth. A compiler
	// flag alone may gain a smaller share.
	hotShare = 0.10
	// allocShare is the share of the CPU in allocating and collecting: without allocations a
	// CPU-bound capacity would rise by a ninth.
	allocShare = 0.10
	// allocBytes per request count if no CPU profile shows their cost: at 1,000 requests/s they
	// fill the smallest heap (4 MiB) four times a second.
	allocBytes = 16 << 10

	limitShare = 0.50 // of the time: a job waits longer for it than for all other limits together
	lockShare  = 0.05 // of the requests' time: visible in a p99 before it is visible in the mean
	queueShare = 0.10 // of the requests' time
	poolShare  = 0.10 // of the requests' time: they hardly ever wait for a pool of sufficient size
	// spinShare is of the CPU time, in locks, channels and the scheduler: diagnose's threshold for a
	// spinning lock.
	spinShare = 0.25
	// syscallShare is half of diagnose's threshold for a service bound by system calls.
	syscallShare = 0.20
	// dialShare is of the CPU time. A dial per request takes a third of a cheap handler's CPU time;
	// one per 100 requests is not visible.
	dialShare      = 0.05
	dialsPerTen    = 0.1  // dials per request: a working pool dials at its start and then hardly ever
	handshakeShare = 0.05 // of the CPU time
	prepareShare   = 0.05 // of the CPU, or of the requests' time: one extra round trip in twenty
	// These are of the acquires and statements that the service reports. A connection is normally
	// opened once and used for minutes, and a statement prepared once per connection. Below these
	// shares the pool keeps too few idle connections, or the statement cache is too small. With
	// leastReported acquires or statements, the share is known within a few hundredths.
	reuseShare    = 0.85
	preparedShare = 0.92
	leastReported = 100
	deadlineShare = 0.05 // of the requests' time: less does not delay a request for long

	// serial is the busy share above which the goroutine that others wait for is itself the
	// bottleneck.
	serial = 0.85

	// The goroutines of the runtime, the profiler and a few more connections are fewer than
	// leakGoroutines; leakGrowth exceeds the fluctuation around a steady mean.
	leakGoroutines = 20
	leakGrowth     = 0.10
	// leftOver is the share of a growth that must be left when the load has ended: what leaked stays.
	leftOver = 0.5
	// leakShare is of the largest growth: stacks that grew by less are effects of it, or another
	// problem.
	leakShare = 0.10
	// The live heap fluctuates by a cycle's garbage; a change above both of these within one run is
	// growth.
	leakBytes = 8 << 20
	leakHeap  = 0.20
	// keptUp is of the arrival rate, as in a capacity search: a backlog also makes goroutines and
	// heap grow.
	keptUp        = 0.98
	pauseShare    = 0.05 // of the p99: the smallest length of the longer GC pauses that affects it
	acceptNearly  = 0.8  // of the accept queue's limit
	acceptPerHour = 60   // refused connections per hour that are reported: one a minute

	// Cost of a miss, as an order of magnitude: a line from DRAM takes 80 ns on servers, a page
	// walk whose entries are in the cache 10 ns. Out-of-order execution hides part of both.
	missCost  = 80e-9
	tlbCost   = 10e-9
	missShare = 0.20 // of the CPU time
	// mostMissed limits that estimate: something is computed between two misses.
	mostMissed = 0.9
	// idleCPU is of the target's cores: the autoscaler's target less its tolerance. Above it, the CPU
	// may be the bottleneck.
	idleCPU      = 0.72
	leastMissed  = 2   // slices: one may have missed the SLO because of another process
	dbConnLimit  = 100 // default max_connections of PostgreSQL; MySQL's is 151
	sqlDefaultBy = "PostgreSQL's default"
)
