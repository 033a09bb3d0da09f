package rules

// Signals is the input of the rules, by name: one figure each, absent when it could not be
// measured.
type Signals map[string]float64

// Names of signals. T is the measured time of the saturated run, c its clients (requests in
// flight), X its throughput.
const (
	// the target's CPU over the cores available to it (GOMAXPROCS, less what the lab itself took)
	Utilisation   = "utilisation"
	Cores         = "cores_used"     // cores that the target used
	Clients       = "clients"        // c
	Throughput    = "throughput"     // X, per second
	Failing       = "failing"        // share of responses that failed
	Growth        = "growth"         // rise of X per doubling of the clients, at the last step of the sweep
	Capped        = "capped"         // 1: the load reached its configured limit
	Occupied      = "occupied"       // sum of latencies / (c T): 1 when every client always waits for an answer
	Serial        = "serial"         // X_max times the response time of one client: 1 is one at a time
	GeneratorBusy = "generator_busy" // share of a core that the generator's busiest thread used
	GeneratorLag  = "generator_lag"  // the generator's own p99 send-lag over the p99 that it reports
	// share of the machine taken by processes that the lab did not start, steal included
	Neighbours = "neighbours"
	Delayed    = "delayed"    // seconds per second and core that the target's threads waited for a CPU
	LockWait   = "lock_wait"  // goroutines waiting for a mutex, over c
	LockSpin   = "lock_spin"  // share of the CPU profile in locks' slow paths
	Collecting = "collecting" // share of the CPU profile in garbage collection
	Allocating = "allocating" // Collecting plus the share in allocation
	GCShare    = "gc_share"   // share of the CPU time that the runtime charges to GC
	Kernel     = "kernel"     // share of the CPU profile in system calls
	System     = "system"     // share of the target's CPU time spent in the kernel
	Running    = "running"    // share of the target's processors (GOMAXPROCS) that ran goroutines, by the trace
	Waiting    = "waiting"    // share of the requests' time that was a wait, by the trace
	WaitTop    = "wait_top"   // share of the requests' time in the kind of wait that took most
	// WaitTop without the time in which requests queued for a CPU; only if other processes, which
	// lengthen that time, disturbed the run
	Unqueued = "wait_top_unqueued"
	// share of the requests' time in which their handlers waited for the client to send or to read
	OnClient = "on_client"
	// part of WaitTop in which goroutines were runnable while others kept the processors (GOMAXPROCS)
	// in a system call
	RunnableWait = "held_back"
	// share of the time in which the one goroutine that the requests wait for worked
	SerialBusy = "serial_busy"
	// Syncing is the share of time in which the goroutine at the end of the chain for which requests
	// wait is itself in a call to a file.
	Syncing     = "syncing"
	Workers     = "workers"      // goroutines that do the work after the response
	WorkersWait = "workers_wait" // share of the Workers' time in the kind of wait that took most
	AcceptFull  = "accept_full"  // connections per second dropped by a full accept queue, over X
	AcceptQueue = "accept_queue" // connections waiting to be accepted, over c
	// Of a program that Go did not build: threads that ran or waited for a CPU, at any moment.
	Awake = "awake"
	// OneThread is the same for the one thread that alone runs such a program's code, at most 1.
	// Starved is the share of OneThread, or without it of Awake, in which the threads waited for a
	// CPU.
	OneThread = "one_thread"
	Starved   = "starved"
	// connections on which such a program waits for another process's answer, over c; if it has few
	// connections, over the number of open ones
	Calling    = "calling"
	AcceptFill = "accept_fill" // connections waiting to be accepted, over the queue's capacity
)

// OneAtATime is the highest Serial of a service that serves requests one at a time. It is above 1
// because the response time of a single client includes time on the network.
const OneAtATime = 1.35
