package findings

import (
	"fmt"

	"dyno/lab/diagnose/stacks"
	"dyno/lab/diagnose/whatif"
	"dyno/lab/record"
)

// hotPath names the service's own functions that spend a request's CPU time, directly or in the
// library functions that they call.
func hotPath(l *figures) []Finding {
	if l.cpu == nil {
		return nil
	}
	where := stacks.Sites(l.cpu.Stacks)
	if len(where) == 0 || where[0].Share < hotShare {
		return nil
	}
	top := where[0]
	f := Finding{Kind: KindHotPath, Sites: where, Profile: record.ProfileCPU, worth: top.Share, Removes: whatif.Removal{CPU: top.Share, CPUOf: "in " + top.String()},
		Text: fmt.Sprintf("%s takes %s of the CPU time", top.String(), percent(top.Share)),
		Next: l.list(record.ProfileCPU, top.Function, "") + " shows it line by line; measure a change with dyno compare, which gives the CPU per request of both sides"}
	if stacks.Scripted(top.File) {
		f.Next = "go tool pprof -top " + l.file(record.ProfileCPU) + " lists all functions; measure a change with dyno compare, which gives the CPU per request of both sides"
	}
	if us := l.cpuPerRequest(1); us > 0 {
		f.Text += fmt.Sprintf(": %s of %s per request", micros(us*top.Share), micros(us))
		f.Evidence = append(f.Evidence,
			Evidence{"cpu_per_request", round(us), "us", "CPU time of a request"},
			Evidence{"hot_path_per_request", round(us * top.Share), "us", "CPU time of a request in " + top.Function + " and the library functions it calls"})
	}
	if called := stacks.Callee(l.cpu.Stacks, top); called != "" {
		f.Text += ", most of it by calling " + called
	}
	f.Text += "."
	f.Evidence = append(f.Evidence, Evidence{"hot_path_share", round(top.Share), "of CPU time", "spent there: the CPU that the service would save without it"})
	return []Finding{f}
}

// spinning finds CPU time spent waiting rather than computing.
func spinning(l *figures) []Finding {
	if l.cpu == nil {
		return nil
	}
	waits := []stacks.Class{stacks.Lock, stacks.Channel, stacks.Scheduler}
	share, where := l.cpuWithin(func(s record.Stack) bool {
		class := stacks.ClassOf(s.Frames)
		return class == waits[0] || class == waits[1] || class == waits[2]
	})
	if share < spinShare {
		return nil
	}
	f := Finding{Kind: KindSpinning, Sites: where, Profile: record.ProfileCPU, worth: share, Removes: whatif.Removal{CPU: share, CPUOf: "spent on locks, channels and the scheduler"},
		Text: fmt.Sprintf("%s of the CPU time is spent waiting rather than computing: acquiring locks, passing messages and finding goroutines to run%s.", percent(share), in(where)),
		Next: "hand over less often: batch the items that pass through the channel or lock, shard it, or keep the work on one goroutine; then dyno compare --metric cpu"}
	for _, c := range waits {
		if v := l.classes[c]; v > 0 {
			f.Evidence = append(f.Evidence, Evidence{string(c) + "_share", round(v), "of CPU time", meaning[c]})
		}
	}
	return []Finding{f}
}

var meaning = map[stacks.Class]string{
	stacks.Lock:      "acquiring and releasing locks",
	stacks.Channel:   "sending, receiving and selecting",
	stacks.Scheduler: "finding goroutines to run, parking threads and waking them",
}

// syscalls finds the system calls of a request, by call and by place.
func syscalls(l *figures) []Finding {
	share, where := l.cpuWithin(func(s record.Stack) bool { return stacks.ClassOf(s.Frames) == stacks.Syscall })
	if share < syscallShare {
		return nil
	}
	calls := map[string]float64{}
	most := ""
	for _, s := range l.cpu.Stacks {
		if name := stacks.SystemCall(s.Frames); name != "" && stacks.ClassOf(s.Frames) == stacks.Syscall {
			if calls[name] += s.Value; calls[name] > calls[most] {
				most = name
			}
		}
	}
	// Batching saves only a part of the calls' cost: the worth assumes half.
	f := Finding{Kind: KindSyscalls, Sites: where, Profile: record.ProfileCPU, worth: share / 2, Removes: whatif.Removal{CPU: share, CPUOf: "in system calls"},
		Text:     fmt.Sprintf("%s of the CPU time is spent in system calls%s", percent(share), in(where)),
		Evidence: []Evidence{{"syscall_share", round(share), "of CPU time", "spent in the kernel on the service's behalf"}},
		Next:     "fewer and larger calls: a bufio.Writer flushed once per request, net.Buffers, one write for many records; strace -c -f -p PID counts them"}
	if l.Profiled.Target.NotGo {
		f.Next = fmt.Sprintf("fewer and larger calls; strace -c -f -p %d counts them", l.Profiled.Target.PID)
	}
	if most != "" {
		part := calls[most] / l.cpu.Total()
		f.Text += fmt.Sprintf(", %s in %s", percent(part), most)
		f.Evidence = append(f.Evidence, Evidence{"syscall_most", round(part), "of CPU time", most})
	}
	if us := l.cpuPerRequest(share); us > 0 {
		f.Text += fmt.Sprintf(": %s per request", micros(us))
		f.Evidence = append(f.Evidence, Evidence{"syscall_per_request", round(us), "us", "spent in system calls"})
	}
	f.Text += "."
	return []Finding{f}
}

// misses finds CPU time spent waiting for memory.
func misses(l *figures) []Finding {
	var out []Finding
	for _, kind := range []struct {
		kind, signal, what, next string
		cost                     float64
		rate                     func(record.System) float64
	}{
		{KindCacheMisses, "cache_misses_per_request", "the last-level cache", "look for pointers that could be indices, maps that could be slices, fields that share a line (perf c2c)", missCost,
			func(a record.System) float64 { return a.CacheMisses }},
		{KindTLBMisses, "tlb_misses_per_request", "the TLB", "try transparent huge pages for the heap (GODEBUG, /sys/kernel/mm/transparent_hugepage/enabled) and compare", tlbCost,
			func(a record.System) float64 { return a.TLBMisses }},
	} {
		var worst *record.Run
		share := 0.0
		for _, r := range l.counted {
			if cpu := r.System.TargetCPU; r.System.Seen && cpu > 0 && kind.rate(r.System)*kind.cost/cpu > share {
				worst, share = r, kind.rate(r.System)*kind.cost/cpu
			}
		}
		if worst == nil || share < missShare || worst.Totals.ThroughputPerS <= 0 {
			continue
		}
		each := kind.rate(worst.System) / worst.Totals.ThroughputPerS
		// The share is an estimate: the worth assumes that half of it can be saved.
		out = append(out, Finding{Kind: kind.kind, worth: min(share, 1) / 2, Next: kind.next,
			Removes: whatif.Removal{CPU: min(share, mostMissed), CPUOf: "spent waiting for memory, by an estimate"},
			Text:    fmt.Sprintf("A request misses %s %s times; at %s ns each that would be %s of its CPU time.", kind.what, digits(each), digits(kind.cost*1e9), percent(min(share, 1))),
			Evidence: []Evidence{{kind.signal, round(each), "misses", "of the target, by the CPU's counters"},
				{string(kind.kind) + "_share", round(min(share, 1)), "of CPU time", "spent waiting for memory, unless other work hides the wait"}}})
	}
	return out
}
