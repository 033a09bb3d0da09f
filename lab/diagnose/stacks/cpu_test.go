package stacks

import (
	"math"
	"testing"

	"dyno/lab/record"
)

// The stacks are from CPU profiles of programs built by Go 1.26, unless marked.
func TestClassOf(t *testing.T) {
	for _, tt := range []struct {
		want  Class
		stack string
	}{
		{GC, "runtime.tryDeferToSpanScan < runtime.scanObjectsSmall < runtime.scanSpan < runtime.gcDrain < runtime.gcDrainMarkWorkerDedicated < runtime.gcBgMarkWorker.func2 < runtime.systemstack < runtime.gcBgMarkWorker"},
		{GC, "runtime.greyobject < runtime.scanobject < runtime.gcDrain < runtime.gcBgMarkWorker.func2 < runtime.systemstack < runtime.gcBgMarkWorker"}, // 1.24
		{GC, "internal/runtime/gc/scan.scanSpanPackedAVX512 < internal/runtime/gc/scan.ScanSpanPacked < runtime.scanObjectsSmall < runtime.scanSpan < runtime.gcDrain < runtime.gcBgMarkWorker"},
		{GC, "runtime.scanObjectSmall < runtime.scanSpan < runtime.gcDrainN < runtime.gcAssistAlloc1 < runtime.gcAssistAlloc.func2 < runtime.systemstack < runtime.gcAssistAlloc < runtime.deductAssistCredit < runtime.mallocgc < runtime.newobject < main.work"},
		{GC, "runtime.tryDeferToSpanScan < runtime.wbBufFlush1 < runtime.wbBufFlush.func1 < runtime.systemstack < runtime.wbBufFlush < gcWriteBarrier < main.work"},
		{GC, "runtime.(*sweepLocked).sweep < runtime.sweepone < runtime.bgsweep"},
		{GC, "internal/runtime/syscall/linux.Syscall6 < runtime.madvise < runtime.sysUnusedOS < runtime.(*pageAlloc).scavengeOne < runtime.(*pageAlloc).scavenge < runtime.bgscavenge.func2 < runtime.bgscavenge"},
		{GC, "runtime.gcmarknewobject < runtime.mallocgcSmallScanNoHeader < runtime.mallocgc < main.work"},
		{Malloc, "runtime.nextFreeFast < runtime.mallocgcSmallScanNoHeader < runtime.mallocgc < runtime.newobject < net/http.readRequest < net/http.(*conn).serve"},
		{Malloc, "runtime.memmove < runtime.growslice < main.handle"},
		{Malloc, "runtime.lock2 < runtime.lockWithRank < runtime.lock < runtime.(*mheap).alloc.func1 < runtime.systemstack < runtime.(*mheap).alloc < runtime.(*mcentral).grow < runtime.mallocgc < main.f"},
		{Malloc, "runtime.mallocgcSmallScanNoHeaderSC4 < main.handle"},
		{Lock, "internal/sync.(*Mutex).lockSlow < internal/sync.(*Mutex).Lock < sync.(*Mutex).Lock < main.work < main.main.func7"},
		{Lock, "runtime.procyieldAsm < runtime.procyield < runtime.lock2 < runtime.lockWithRank < runtime.semrelease1 < internal/sync.runtime_Semrelease < internal/sync.(*Mutex).unlockSlow < internal/sync.(*Mutex).Unlock < sync.(*Mutex).Unlock < main.work"},
		{Lock, "sync/atomic.(*Int32).Add < sync.(*RWMutex).RLock < main.work < main.main.func7"},
		{Lock, "internal/runtime/atomic.(*Uint32).CompareAndSwap < runtime.casgstatus < runtime.ready < runtime.readyWithTime.goready.func1 < runtime.systemstack < runtime.goready < runtime.readyWithTime < runtime.semrelease1 < internal/sync.runtime_Semrelease < internal/sync.(*Mutex).unlockSlow < sync.(*Mutex).Unlock < main.work"},
		{Lock, "runtime.futex < runtime.futexwakeup < runtime.notewakeup < runtime.startm < runtime.wakep < runtime.semrelease1 < sync.runtime_Semrelease < sync.(*Mutex).unlockSlow < sync.(*Mutex).Unlock < main.work"}, // 1.23
		{Channel, "runtime.procyieldAsm < runtime.procyield < runtime.lock2 < runtime.lockWithRank < runtime.lock < runtime.chanrecv < runtime.chanrecv2 < main.main.func2"},
		{Channel, "runtime.unlock2 < runtime.unlockWithRank < runtime.unlock < runtime.chanparkcommit < runtime.park_m < runtime.mcall"},
		{Channel, "runtime.selectgo < net/http.(*persistConn).roundTrip < net/http.(*Transport).roundTrip"},
		{Syscall, "internal/runtime/syscall/linux.Syscall6 < syscall.RawSyscall6 < syscall.Syscall < syscall.write < syscall.Write < internal/poll.(*FD).Write < net.(*netFD).Write < net.(*conn).Write < main.serve"},
		{Syscall, "runtime/internal/syscall.Syscall6 < syscall.RawSyscall6 < syscall.Syscall < syscall.read < main.serve"}, // 1.23
		{Syscall, "runtime.exitsyscall < syscall.Syscall < syscall.Fsync < os.(*File).Sync < main.work"},
		{Syscall, "internal/runtime/syscall/linux.Syscall6 < syscall.RawSyscall6 < syscall.Syscall6 < golang.org/x/sys/unix.EpollWait < main.loop"},
		{Scheduler, "internal/runtime/syscall/linux.Syscall6 < internal/runtime/syscall/linux.EpollWait < runtime.netpoll < runtime.findRunnable < runtime.schedule < runtime.park_m < runtime.mcall"},
		{Scheduler, "runtime.futex < runtime.futexsleep < runtime.notesleep < runtime.mPark < runtime.stopm < runtime.findRunnable < runtime.schedule < runtime.park_m < runtime.mcall"},
		{Scheduler, "runtime.usleep < runtime.runqgrab < runtime.runqsteal < runtime.stealWork < runtime.findRunnable < runtime.schedule < runtime.park_m < runtime.mcall"},
		{Profiling, "compress/flate.(*compressor).deflate < compress/gzip.(*Writer).Write < runtime/pprof.(*profileBuilder).build < runtime/pprof.StopCPUProfile < net/http/pprof.Profile < net/http.HandlerFunc.ServeHTTP < dyno/agent.(*Agent).Marking.func1 < net/http.(*conn).serve"},
		{Profiling, "runtime.mallocgc < encoding/json.Marshal < dyno/agent.(*Agent).stream < net/http.HandlerFunc.ServeHTTP"},
		{Profiling, "runtime/metrics.Read < dyno/agent/monotonic.Now"},
		{Other, "crypto/internal/fips140/sha256.blockSHANI < crypto/sha256.Sum256 < main.work"},
		{Other, "time.runtimeNow < time.Now < main.work"},    // the vDSO is not a system call
		{Other, "main.work < runtime/pprof.Do < main.main"},  // labelling is not profiling
		{Other, "main.less < sort.Slice < runtime.mallocgc"}, // a callback's work is its own
		{Other, "dyno/agents.Work < main.main"},              // not the agent
		{Other, "memeqbody < runtime.mapaccess1_faststr < main.work"},
		{Other, "runtime.nanotime1"},
		{Other, "main.work < sync.(*Once).doSlow < sync.(*Once).Do < main.main"},
	} {
		if got := ClassOf(frames(tt.stack)); got != tt.want {
			t.Errorf("%s, want %s: %s", got, tt.want, tt.stack)
		}
	}
}

func TestShares(t *testing.T) {
	stack := func(value float64, s string) record.Stack { return record.Stack{Frames: frames(s), Value: value} }
	p := &record.Profile{Stacks: []record.Stack{
		stack(30, "runtime.mallocgc < main.work"),
		stack(10, "runtime.scanobject < runtime.gcDrain < runtime.gcBgMarkWorker"),
		stack(60, "main.work"),
		stack(900, "compress/gzip.(*Writer).Write < runtime/pprof.StopCPUProfile < net/http/pprof.Profile"),
	}}
	got := ClassShares(p)
	for class, want := range map[Class]float64{Malloc: 0.3, GC: 0.1, Other: 0.6, Profiling: 0, Lock: 0} {
		if math.Abs(got[class]-want) > 1e-9 {
			t.Errorf("%s: %v, want %v", class, got[class], want)
		}
	}
	p.Stacks = p.Stacks[3:]
	if got := ClassShares(p); got != nil {
		t.Errorf("shares of nothing but profiling: %v", got)
	}
}
