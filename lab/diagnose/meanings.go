package diagnose

import (
	"fmt"

	"dyno/lab/diagnose/rules"
)

// meaning describes a signal.
type meaning struct {
	Signal, Unit string
	Means        func(v float64, t rules.Thresholds) string // nil: it depends on more than the value
}

// meanings describe the signals, in the order in which they are printed.
var meanings = []meaning{
	{rules.Throughput, "1/s", fixed("throughput of the diagnosed run")},
	{rules.Clients, "requests", fixed("requests in flight during the diagnosed run")},
	{rules.Utilisation, "share", versus(rules.ThresholdBusyCPU, "the CPU available to it is used up", "there is CPU left")},
	{rules.Failing, "share", fixed("share of responses that were errors or failed a check")},
	{rules.Growth, "per doubling", versus(rules.ThresholdGrowth, "more clients still raise the throughput", "more clients do not raise the throughput any more")},
	{rules.Serial, "requests at a time", nil},
	{rules.Occupied, "share", versus(rules.ThresholdOccupied, "the clients always wait for an answer", "the clients do not always wait, so they do not saturate it")},
	{rules.GeneratorBusy, "share", versus(rules.ThresholdGeneratorBusy, "the generator's busiest thread is the limit", "the generator had spare capacity")},
	{rules.Neighbours, "share", versus(rules.ThresholdNeighbours, "other programs took its CPU", "other programs left it enough CPU")},
	{rules.LockWait, "share", versus(rules.ThresholdLockWait, "at any moment most requests wait for a mutex", "few requests wait for a mutex")},
	{rules.LockSpin, "share", fixed("CPU time spent acquiring and releasing locks")},
	{rules.Allocating, "share", fixed("CPU time spent on garbage collection and allocation")},
	{rules.Collecting, "share", fixed("CPU time spent on garbage collection alone, by the CPU profile")},
	{rules.GCShare, "share", fixed("CPU time spent on garbage collection alone, by the runtime's figures")},
	{rules.Kernel, "share", fixed("CPU time spent in system calls, by the CPU profile")},
	{rules.System, "share", fixed("CPU time spent in the kernel, by the kernel's figures")},
	{rules.Running, "share", fixed("processor time (GOMAXPROCS) in which goroutines ran, by the execution trace")},
	{rules.Waiting, "share", fixed("requests' time spent waiting, locks included")},
	{rules.WaitTop, "share", fixed("requests' time spent in the kind of wait that took most")},
	{rules.OnClient, "share", fixed("requests' time spent waiting for the client to send or to read")},
	{rules.RunnableWait, "share", fixed("requests' time spent runnable while others keep the processors (GOMAXPROCS) in a system call")},
	{rules.Workers, "goroutines", fixed("goroutines that do the work after the response")},
	{rules.WorkersWait, "share", fixed("worker goroutines' time spent in the kind of wait that took most")},
	{rules.Syncing, "share", fixed("time in which the goroutine that requests wait for in the end is in a call to a file")},
	{rules.SerialBusy, "share", fixed("time in which the one goroutine that the requests wait for was busy")},
	{rules.OneThread, "share", versus(rules.ThresholdOneThread, "the one thread that runs its code ran or waited for a CPU all the time", "the one thread that runs its code also slept")},
	{rules.Starved, "share", versus(rules.ThresholdStarved, "of that, it mostly waited for a CPU, so it does not show what it would do on a free one", "of that, it waited for a CPU")},
	{rules.Awake, "threads", versus(rules.ThresholdAwake, "its threads ran or waited for a CPU", "its threads slept most of the time")},
	{rules.Calling, "share", versus(rules.ThresholdCalling, "most requests, or most connections, wait for another process's answer", "few connections wait for another process's answer")},
	{rules.AcceptQueue, "share", fixed("highest share of the clients in the accept queue")},
	{rules.AcceptFill, "share", fixed("highest fill of the accept queue")},
	{rules.AcceptFull, "per request", fixed("connections dropped by a full accept queue")},
}

func fixed(text string) func(float64, rules.Thresholds) string {
	return func(float64, rules.Thresholds) string { return text }
}

// versus states on which side of a threshold a value is.
func versus(bar, atOrAbove, under string) func(float64, rules.Thresholds) string {
	return func(v float64, t rules.Thresholds) string {
		limit := t.Value(bar)
		if v < limit {
			return fmt.Sprintf("%s (less than %s)", under, digits(limit))
		}
		return fmt.Sprintf("%s (%s or more)", atOrAbove, digits(limit))
	}
}
