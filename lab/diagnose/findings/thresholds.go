package findings

import "time"

// From when on something is worth a sentence. Shares of the CPU are of the service's own samples.
const (
	// leastSamples is how many samples a CPU profile needs, as CPU time at pprof's 100 Hz: a share of 10%
	// is then known to within a third.
	leastSamples = 1 * time.Second

	hotShare = 0.10 // of the CPU: without it the service would carry a ninth more; below, a compiler's flag does as much
	// allocShare is of the CPU in allocating and collecting: not allocating at all would then raise a
	// CPU-bound capacity by a ninth.
	allocShare = 0.10
	// allocBytes per request matter without a CPU profile to say what they cost: at 1,000 requests/s they
	// fill the smallest heap (4 MiB) four times a second.
	allocBytes = 16 << 10

	limitShare = 0.50 // of the time: what a job waits for longer than for anything else together
	lockShare  = 0.05 // of the requests' time: about what shows in a p99 before it shows in the mean
	queueShare = 0.10 // of the requests' time
	poolShare  = 0.10 // of the requests' time: a pool that is large enough is hardly ever waited for
	spinShare  = 0.25 // of the CPU in locks, channels and the scheduler: the bar at which diagnose calls a lock spinning
	// syscallShare is half the bar at which diagnose calls a service bound by system calls.
	syscallShare = 0.20
	// dialShare is of the CPU. A dial per request costs a cheap handler a third of its CPU; one per 100
	// requests cannot be seen.
	dialShare      = 0.05
	dialsPerTen    = 0.1 // dials per request: a pool that works dials when it starts and then hardly ever
	handshakeShare = 0.05
	prepareShare   = 0.05 // of the CPU, or of the requests' time: one extra round trip in twenty
	// Of a pool that the service tells of: a connection is made once and used for minutes, a statement prepared
	// once for each connection. Below these, a pool is too small to keep its connections or a cache too small for
	// the texts; leastTold acquires or statements show that to within a few hundredths.
	reuseShare    = 0.85
	preparedShare = 0.92
	leastTold     = 100
	deadlineShare = 0.05 // of the requests' time: less cannot hold a request up for long

	// serial is how busy the goroutine is that others wait for, when it is itself what is short.
	serial = 0.85

	// The runtime's own goroutines, the profiler's and those of a few more connections come to fewer than
	// leakGoroutines; leakGrowth is beyond what comes and goes around a steady mean.
	leakGoroutines = 20
	leakGrowth     = 0.10
	leakBeside     = 0.10 // of the stack that grew most: what grew less beside it came with it, or is another day's work
	// The live heap moves by a cycle's garbage; beyond both of these in one run it has grown.
	leakBytes     = 8 << 20
	leakHeap      = 0.20
	leakGCCycles  = 8 // distinct values of the live heap: two in each quarter of the run
	leastWindows  = 40
	keptUp        = 0.98 // of what was offered, as in a capacity search: a backlog also makes goroutines and heap grow
	pauseShare    = 0.05 // of the p99 that the longer group of GC pauses must reach to be felt in it
	acceptNearly  = 0.8  // of the accept queue's limit
	acceptPerHour = 60   // connections refused per hour that are worth a sentence: one a minute

	// Cost of a miss, for the order of magnitude: a line from DRAM takes 80 ns on servers, a page walk whose
	// entries are in the cache 10 ns. Out-of-order execution hides part of both.
	missCost     = 80e-9
	tlbCost      = 10e-9
	missShare    = 0.20 // of the CPU time
	idleCPU      = 0.72 // of the cores it may use: the autoscaler's target less its tolerance; above, the CPU may well be short
	waitedShare  = 0.5  // of a run of which CPU-based scaling must be late to be called so
	dbConnLimit  = 100  // max_connections of PostgreSQL unless configured; MySQL has 151
	sqlDefaultBy = "PostgreSQL's default"
)
