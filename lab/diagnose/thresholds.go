package diagnose

// Threshold is the value at which a signal counts.
type Threshold struct {
	Value float64
	SetBy string // the experiment that set it
}

// Thresholds are the numbers that rules and predictions compare with, by name. `dyno calibrate`
// fits them to its servers and prints how far each may move before a verdict changes; the values
// here are round numbers within that range. It judges each family of servers by thresholds fitted
// to the other families, and reports the share of right verdicts.
type Thresholds map[string]Threshold

// Names of thresholds.
const (
	refusing          = "refusing"
	generatorBusy     = "generator_busy"
	generatorLag      = "generator_lag"
	idleCPU           = "idle_cpu"
	occupiedLeast     = "occupied"
	growthPerDoubling = "growing"
	minClients        = "alone"
	neighbours        = "neighbours"
	delayed           = "delayed"
	lockWaiting       = "lock_waiting"
	busyCPU           = "busy_cpu"
	allocating        = "allocating"
	collecting        = "collecting"
	spinning          = "spinning"
	kernelShare       = "kernel"
	waiting           = "waiting"
	serialBusy        = "serial"
	running           = "running"
	unready           = "on_client"
	acceptQueueWait   = "accepting"
	acceptQueueFill   = "filled"
	fewerProcs        = "fewer_procs"
	lessGC            = "less_gc"
)

// Defaults are the thresholds in use. "Suite" is dyno calibrate --quick --repeats 5 on 2 virtual
// cores of a shared host: 28 servers with five sets of parameters each. The figures are the nearest
// that must stay below the threshold and the nearest that must reach it.
var Defaults = Thresholds{
	refusing:          {0.05, "chosen: a service that answers one request in twenty with an error rejects load rather than carries it"},
	generatorBusy:     {0.80, "suite: render 0.19, client-slow 0.84"},
	generatorLag:      {0.25, "thirteen servers before the suite: a p99 of which a quarter is the generator's own lag does not describe the server"},
	idleCPU:           {0.70, "suite: accept 0.11 is the highest that must stay below it"},
	occupiedLeast:     {0.80, "suite: paced 0.00, thinking 0.04; pool-sql 0.86"},
	growthPerDoubling: {0.10, "suite: thinking 1.0 per doubling; saturated servers are at 0 apart from noise"},
	minClients:        {2, "chosen: clients; with a single one the load never waits for itself"},
	neighbours:        {0.30, "a single busy thread takes 0.33 of two cores"},
	delayed:           {0.02, "chosen: below it other processes do not delay the service"},
	lockWaiting:       {0.50, "suite: pipe 0.00, mutex-block 0.66"},
	busyCPU:           {0.66, "suite: fsync 0.61, strings 0.71"},
	allocating:        {0.40, "suite: files 0.06, mixed-cpu-gc 0.44"},
	collecting:        {0.25, "suite: files 0.03; servers of a large heap pass by allocating as well"},
	spinning:          {0.25, "suite: pipe 0.03, mutex-short 0.79"},
	kernelShare:       {0.40, "suite: render 0.08, files 0.70"},
	waiting:           {0.50, "suite: what computes below 0.2, pool-channel 0.87"},
	serialBusy:        {0.80, "suite: consumer 1.0"},
	unready:           {0.50, "suite: strings 0.18, client-slow 0.95"},
	running:           {0.62, "suite: highest of the waiting servers that use up the CPU, consumer 0.56; lowest of the computing ones, mutex-short 0.68"},
	acceptQueueWait:   {0.25, "suite: 0 but for accept, 1.0"},
	acceptQueueFill:   {0.50, "chosen: where a short queue is full although few clients wait in it"},
	fewerProcs:        {0.85, "suite, on one of two processors: computing servers keep 0.43 to 0.82, waiting ones 0.84 and more"},
	lessGC:            {1.10, "suite: mixed-cpu-gc 1.34, churn 1.62, strings 1.68, liveheap 1.84 at the least"},
}
