package diagnose

// Signals is what the rules read, by name: one figure each, absent when it could not be seen.
type Signals map[string]float64

// Names of signals. T is the measured time of the saturated run, c its clients (requests in flight), X its
// throughput.
const (
	Utilisation   = "utilisation"    // the target's CPU over the cores it could have had (GOMAXPROCS, less what the lab itself took)
	Cores         = "cores_used"     // by the target
	Clients       = "clients"        // c
	Throughput    = "throughput"     // X, per second
	Failing       = "failing"        // share of what ended that was no good answer
	Growth        = "growth"         // of X per doubling of the clients, at the last step of the sweep
	Capped        = "capped"         // 1: the load was told to go no further
	Occupied      = "occupied"       // sum of latencies / (c T): 1 when every client always waits for an answer
	Serial        = "serial"         // X_max times the response time of one client: 1 is one at a time
	GeneratorBusy = "generator_busy" // share of a core that the generator's busiest thread used
	GeneratorLag  = "generator_lag"  // the generator's own p99 send-lag over the p99 it reports
	Neighbours    = "neighbours"     // share of the machine that processes took which the lab did not start, steal included
	Delayed       = "delayed"        // seconds per second and core that the target's threads waited for a CPU
	LockWait      = "lock_wait"      // goroutines waiting for a mutex, over c
	LockSpin      = "lock_spin"      // share of the CPU profile in locks' slow paths
	Collecting    = "collecting"     // share of the CPU profile in garbage collection
	Allocating    = "allocating"     // the same and in allocation
	GCShare       = "gc_share"       // share of the CPU time that the runtime charges to GC
	Kernel        = "kernel"         // share of the CPU profile in system calls
	System        = "system"         // share of the target's CPU time spent in the kernel
	Running       = "running"        // share of the target's processors (GOMAXPROCS) that ran goroutines, by the trace
	Waiting       = "waiting"        // share of the requests' time that was a wait, by the trace
	WaitTop       = "wait_top"       // share of the requests' time in the kind of wait that took most
	OnClient      = "on_client"      // share of the requests' time in which their handlers waited for the client: to send, or to read what was written
	HeldBack      = "held_back"      // of WaitTop, by goroutines that were ready while others kept the processors in a system call
	SerialBusy    = "serial_busy"    // share of the time that one goroutine worked on which the requests wait
	Workers       = "workers"        // goroutines that do the work after a request was answered
	WorkersWait   = "workers_wait"   // share of their time in the kind of wait that took most
	AcceptFull    = "accept_full"    // connections per second that an accept queue had no room for, over X
	AcceptQueue   = "accept_queue"   // connections waiting to be accepted, over c
	AcceptFill    = "accept_fill"    // the same over how many may wait
)
