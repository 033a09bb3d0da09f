package rules

// Threshold is a value that a signal is compared with.
type Threshold struct {
	Value float64
	SetBy string // the experiment that set it
}

// Thresholds are the numbers that rules and predictions compare with, by name. bench/calibrate
// fits them to its servers and prints how far each may move before a verdict changes; the values
// here are round numbers within that range. It judges each family of servers by thresholds fitted
// to the other families, and reports the share of right verdicts.
type Thresholds map[string]Threshold

// Names of thresholds.
const (
	ThresholdRefusing      = "refusing"
	ThresholdGeneratorBusy = "generator_busy"
	ThresholdGeneratorLag  = "generator_lag"
	ThresholdIdleCPU       = "idle_cpu"
	ThresholdOccupied      = "occupied"
	ThresholdGrowth        = "growing"
	ThresholdClients       = "alone"
	ThresholdNeighbours    = "neighbours"
	ThresholdDelayed       = "delayed"
	ThresholdSqueezed      = "squeezed"
	ThresholdPartly        = "partly"
	ThresholdWorking       = "working"
	ThresholdLockWait      = "lock_waiting"
	ThresholdBusyCPU       = "busy_cpu"
	ThresholdAllocating    = "allocating"
	ThresholdCollecting    = "collecting"
	ThresholdSpinning      = "spinning"
	ThresholdKernel        = "kernel"
	ThresholdWaiting       = "waiting"
	ThresholdSerialBusy    = "serial"
	ThresholdRunning       = "running"
	ThresholdOnClient      = "on_client"
	ThresholdAcceptQueue   = "accepting"
	ThresholdAcceptFill    = "filled"
	ThresholdOneThread     = "one_thread"
	ThresholdStarved       = "starved"
	ThresholdCrowded       = "crowded"
	ThresholdScaling       = "scaling"
	ThresholdAwake         = "awake"
	ThresholdCalling       = "calling"
	ThresholdFewerProcs    = "fewer_procs"
	ThresholdLessGC        = "less_gc"
)

// Defaults are the thresholds in use. "Suite" is calibrate --quick --repeats 5 on 2 virtual
// cores of a shared host: 28 servers with five sets of parameters each. The figures are the nearest
// that must stay below the threshold and the nearest that must reach it.
var Defaults = Thresholds{
	ThresholdRefusing:      {0.05, "chosen: a service that answers one request in twenty with an error rejects load rather than carries it"},
	ThresholdGeneratorBusy: {0.80, "suite: render 0.19, client-slow 0.84"},
	ThresholdGeneratorLag:  {0.25, "thirteen servers before the suite: a p99 of which a quarter is the generator's own lag does not describe the server"},
	ThresholdIdleCPU:       {0.70, "suite: accept 0.11 is the highest that must stay below it"},
	ThresholdOccupied:      {0.80, "suite: paced 0.00, thinking 0.04; pool-sql 0.86"},
	ThresholdGrowth:        {0.10, "suite: thinking 1.0 per doubling; saturated servers are at 0 apart from noise"},
	ThresholdClients:       {2, "chosen: clients; with a single one the load never waits for itself"},
	ThresholdNeighbours:    {0.30, "a single busy thread takes 0.33 of two cores"},
	ThresholdDelayed:       {0.02, "chosen: below it other processes do not delay the service"},
	ThresholdSqueezed:      {0.60, "etcd with others at 0.75 of the CPUs used up the rest, but carried 2.4 times as much without its fsync; one busy thread takes 0.5 of two cores"},
	ThresholdPartly:        {0.30, "the same run of etcd: 0.39 of the requests' time was spent waiting for the log; what computes is below 0.2"},
	ThresholdWorking:       {0.45, "chosen: httpbin and a server that encodes JSON, beside others at 0.34 and 0.89 of the CPUs, used 0.55 and 0.56 of what seemed available"},
	ThresholdLockWait:      {0.50, "suite: pipe 0.00, mutex-block 0.66"},
	ThresholdBusyCPU:       {0.66, "suite: fsync 0.61, strings 0.71"},
	ThresholdAllocating:    {0.40, "suite: files 0.06, mixed-cpu-gc 0.44"},
	ThresholdCollecting:    {0.25, "suite: files 0.03; servers of a large heap pass by allocating as well"},
	ThresholdSpinning:      {0.25, "suite: pipe 0.03, mutex-short 0.79"},
	ThresholdKernel:        {0.40, "suite: render 0.08, files 0.70"},
	ThresholdWaiting:       {0.50, "suite: what computes below 0.2, pool-channel 0.87"},
	ThresholdSerialBusy:    {0.80, "suite: consumer 1.0"},
	ThresholdOnClient:      {0.50, "suite: strings 0.18, client-slow 0.95"},
	ThresholdRunning:       {0.62, "suite: highest of the waiting servers that use up the CPU, consumer 0.56; lowest of the computing ones, mutex-short 0.68"},
	ThresholdAcceptQueue:   {0.25, "suite: 0 but for accept, 1.0"},
	ThresholdAcceptFill:    {0.50, "chosen: where a short queue is full although few clients wait in it"},
	ThresholdOneThread:     {0.85, "node and Python servers that compute: 0.89 at the least, beside a load average of 35 on 2 cores"},
	ThresholdStarved:       {0.60, "node and Python servers beside a load average of 20 to 35 on 2 cores: those that wait, or compute in part, 0.60 at the least; more of those that compute are then not decided"},
	ThresholdCrowded:       {0.30, "chosen: above it, threads of Python servers that wait, at a load average of 28, seemed to be one that is always busy: 0.51 and 0.64"},
	ThresholdScaling:       {0.50, "node and Python servers: 0.02 per doubling of those that compute; 0.82 of one that sleeps, and seemed always busy"},
	ThresholdAwake:         {0.50, "chosen: below it the one thread that runs the code, or all together, sleep most of the time"},
	ThresholdCalling:       {0.50, "node and Python servers: 0 of those that compute or sleep; 0.78 with 8 and 0.95 with 32 clients of one that waits for a slow server"},
	ThresholdFewerProcs:    {0.85, "suite, on one of two processors: computing servers keep 0.43 to 0.82, waiting ones 0.84 and more"},
	ThresholdLessGC:        {1.10, "suite: mixed-cpu-gc 1.34, churn 1.62, strings 1.68, liveheap 1.84 at the least"},
}
