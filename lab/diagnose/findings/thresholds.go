package findings

import "time"

// Thresholds above which a finding is reported. Shares of the CPU are of the service's own samples.
const (
	// leastSamples is how many samples a CPU profile needs, as CPU time at pprof's 100 Hz: a share
	// of 10% then has an error of at most a third.
	leastSamples = 1 * time.Second

	// of the CPU: without it the capacity rises by a ninth; below, a compiler flag gains as much
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
	poolShare  = 0.10 // of the requests' time: a pool of sufficient size is hardly ever waited for
	// of the CPU in locks, channels and the scheduler: diagnose's threshold for a spinning lock
	spinShare = 0.25
	// syscallShare is half of diagnose's threshold for a service bound by system calls.
	syscallShare = 0.20
	// dialShare is of the CPU. A dial per request costs a cheap handler a third of its CPU; one per
	// 100 requests is not visible.
	dialShare      = 0.05
	dialsPerTen    = 0.1 // dials per request: a working pool dials at its start and then hardly ever
	handshakeShare = 0.05
	prepareShare   = 0.05 // of the CPU, or of the requests' time: one extra round trip in twenty
	// Of a pool reported by the service: a connection is opened once and used for minutes, a
	// statement prepared once for each connection. Below these values a pool is too small to keep
	// its connections or a cache too small for the texts; leastTold acquires or statements show
	// that to within a few hundredths.
	reuseShare    = 0.85
	preparedShare = 0.92
	leastTold     = 100
	deadlineShare = 0.05 // of the requests' time: less does not delay a request for long

	// serial is the busy share above which the goroutine that others wait for is itself the
	// bottleneck.
	serial = 0.85

	// The goroutines of the runtime, the profiler and a few more connections are fewer than
	// leakGoroutines; leakGrowth exceeds the fluctuation around a steady mean.
	leakGoroutines = 20
	leakGrowth     = 0.10
	// of the largest growth: stacks that grew less grew with it, or are another problem
	leakBeside = 0.10
	// The live heap fluctuates by a cycle's garbage; a change above both of these within one run is
	// growth.
	leakBytes = 8 << 20
	leakHeap  = 0.20
	// of the arrival rate, as in a capacity search: a backlog also makes goroutines and heap grow
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
	// of its cores: the autoscaler's target less its tolerance; above, the CPU may be the bottleneck
	idleCPU      = 0.72
	leastMissed  = 2   // slices: one may have missed the SLO because of a neighbour
	dbConnLimit  = 100 // default max_connections of PostgreSQL; MySQL's is 151
	sqlDefaultBy = "PostgreSQL's default"
)
