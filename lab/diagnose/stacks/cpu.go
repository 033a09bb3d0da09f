package stacks

import "dyno/lab/record"

// Class is the kind of work that a CPU sample belongs to.
type Class string

// Classes. If several match, the first in this order wins: a system call that returns memory for
// the scavenger is GC, a lock of the heap is Malloc.
const (
	Profiling Class = "profiling" // profiling the process: not the service's own work
	GC        Class = "gc"        // marking, assists, write barriers, sweeping, scavenging
	Malloc    Class = "malloc"    // allocating
	Lock      Class = "lock"      // acquiring and releasing locks: spinning, queueing, waking
	Channel   Class = "channel"   // sending, receiving and selecting, the channel's own lock included
	Syscall   Class = "syscall"   // in the kernel on the service's behalf
	Scheduler Class = "scheduler" // finding work, parking and waking threads, asking the network poller
	Other     Class = "other"     // computing
)

// classes lists the functions that mark each class. Every name was seen in a profile of a program
// built by Go 1.26, or is in the runtime's source of 1.24 or 1.25; those of 1.26 include the
// span-wise marking.
var classes = []struct {
	class Class
	names Names
}{
	{Profiling, Names{prefix: []string{"runtime/pprof.", "net/http/pprof.", "runtime/trace.", "runtime.sigprof",
		"runtime.(*profBuf)", "runtime.(*traceAdvancerState)", "runtime.traceAdvance", "runtime.traceStartReadCPU",
		"runtime.traceStopReadCPU", "runtime.blockevent", "runtime.mutexevent", "runtime.goroutineProfile"}}},
	{GC, Names{
		whole: set("runtime.GC", "runtime.bgsweep", "runtime.bgscavenge", "runtime.sweepone",
			"runtime.deductSweepCredit", "runtime.shade", "runtime.bulkBarrierPreWrite", "runtime.tryDeferToSpanScan",
			"gcWriteBarrier", "runtime.gcWriteBarrier"),
		prefix: []string{"runtime.gcAssist", "runtime.gcBgMark", "runtime.gcDrain", "runtime.gcMark", "runtime.gcmark",
			"runtime.gcStart", "runtime.gcSweep", "runtime.gcPark", "runtime.gcFlush", "runtime.gcWake",
			"runtime.gcResetMark", "runtime.gcPrepare", "runtime.gcController", "runtime.gcPace",
			"runtime.gcParkAssist", "runtime.(*gcWork)", "runtime.(*gcControllerState)", "runtime.(*gcCPULimiter",
			"runtime.scanobject", "runtime.scanObject", "runtime.scanSpan", "runtime.scanblock", "runtime.scanstack",
			"runtime.scanframe", "runtime.scanConservative", "runtime.greyobject", "runtime.markroot",
			"runtime.(*sweepLocke", "runtime.(*scavengerState)", "runtime.(*pageAlloc).scavenge",
			"runtime.(*spanQueue)", "runtime.(*spanInlineMarkBits)", "runtime.(*wbBuf)", "runtime.wbBufFlush",
			"internal/runtime/gc/scan."},
	}},
	{Malloc, Names{
		whole: set("runtime.newobject", "runtime.newarray", "runtime.nextFreeFast", "runtime.memclrNoHeapPointersChunked"),
		prefix: []string{"runtime.mallocgc", "runtime.makeslice", "runtime.growslice", "runtime.rawstring",
			"runtime.rawbyteslice", "runtime.rawruneslice", "runtime.profilealloc", "runtime.(*mcache)",
			"runtime.(*mcentral)", "runtime.(*mheap).alloc"},
	}},
	{Lock, Names{
		whole: set("runtime.semacquire", "runtime.semacquire1", "runtime.semrelease", "runtime.semrelease1"),
		prefix: []string{"sync.(*Mutex)", "sync.(*RWMutex)", "internal/sync.(*Mutex)", "internal/sync.runtime_",
			"sync.runtime_Sem", "sync.runtime_canSpin", "sync.runtime_doSpin", "internal/poll.(*fdMutex)",
			"internal/poll.runtime_Sem"},
	}},
	{Channel, Names{
		whole: set("runtime.closechan", "runtime.selectgo", "runtime.chanparkcommit", "runtime.selparkcommit",
			"runtime.selectnbsend", "runtime.selectnbrecv"),
		prefix: []string{"runtime.chansend", "runtime.chanrecv"},
	}},
	{Syscall, Names{
		whole: set("[kernel]"), // of package linuxperf
		prefix: []string{"syscall.Syscall", "syscall.RawSyscall", "syscall.rawSyscall", "syscall.syscall",
			"syscall.rawsyscall", "internal/runtime/syscall", "runtime/internal/syscall", "internal/syscall/unix.",
			"runtime.entersyscall", "runtime.reentersyscall", "runtime.exitsyscall"},
	}},
	{Scheduler, Names{
		whole: set("runtime.mcall", "runtime.park_m", "runtime.schedule", "runtime.findRunnable", "runtime.execute",
			"runtime.gopark", "runtime.goparkunlock", "runtime.goready", "runtime.ready", "runtime.wakep",
			"runtime.startm", "runtime.stopm", "runtime.sysmon", "runtime.mstart", "runtime.mstart0",
			"runtime.mstart1", "runtime.goschedImpl", "runtime.gosched_m", "runtime.gopreempt_m", "runtime.goexit0",
			"runtime.gdestroy", "runtime.goexit1", "runtime.newproc", "runtime.newproc1", "runtime.netpoll",
			"runtime.netpollBreak", "runtime.netpollblock", "runtime.netpollunblock", "runtime.notesleep",
			"runtime.notewakeup", "runtime.resetspinning", "runtime.injectglist", "runtime.osyield"),
		prefix: []string{"runtime.futex", "runtime.runq", "runtime.casgstatus", "runtime.stealWork", "runtime.notetsleep"},
	}},
}

// netpoller matches the scheduler's own system calls, which the service did not make.
var netpoller = Names{whole: set("runtime.findRunnable", "runtime.netpoll", "runtime.sysmon", "runtime.schedule")}

// agents is the path of the agent's packages, which profile the process that they run in.
const agents = "dyno/agent"

// ClassOf returns the class of work of a CPU sample with this stack.
func ClassOf(frames []record.Frame) Class {
	run := leafRun(frames)
	if ofAgent(frames, run) {
		return Profiling
	}
	for _, c := range classes {
		if c.names.In(run) && !(c.class == Syscall && netpoller.In(run)) {
			return c.class
		}
	}
	return Other
}

// ofAgent reports whether the agent's code called run, the stack's leafRun.
func ofAgent(frames, run []record.Frame) bool {
	if len(run) == len(frames) {
		return false
	}
	pkg := Package(frames[len(run)].Function)
	return pkg == agents || len(pkg) > len(agents) && pkg[:len(agents)+1] == agents+"/"
}

// ClassShares returns the share of each class in a CPU profile, without Profiling; nil if all of it
// is Profiling.
func ClassShares(p *record.Profile) map[Class]float64 {
	out := map[Class]float64{}
	total := 0.0
	for _, s := range p.Stacks {
		if c := ClassOf(s.Frames); c != Profiling {
			out[c] += s.Value
			total += s.Value
		}
	}
	if total <= 0 {
		return nil
	}
	for c := range out {
		out[c] /= total
	}
	return out
}

// Unprofiled returns a profile without the samples of taking profiles.
func Unprofiled(p *record.Profile) *record.Profile {
	out := *p
	out.Stacks = nil
	for _, s := range p.Stacks {
		if ClassOf(s.Frames) != Profiling {
			out.Stacks = append(out.Stacks, s)
		}
	}
	return &out
}
