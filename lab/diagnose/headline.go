package diagnose

import (
	"fmt"
	"strings"

	"dyno/lab/diagnose/findings"
	"dyno/lab/diagnose/rules"
	"dyno/lab/diagnose/stacks"
	"dyno/lab/diagnose/whatif"
)

// headline is the verdict in one sentence: what bounds the service, where, and its share.
func (v statement) headline() string {
	sig := v.Signals
	switch v.Bottleneck {
	case rules.CPU:
		text := "The CPU bounds it"
		if v.Kind == rules.Threaded {
			text = "One thread bounds it"
		}
		if where := v.spent(); where != "" {
			text += ": " + where
		}
		return text + "."
	case rules.GC:
		limit := ""
		switch near := "its memory is near its limit (GOMEMLIMIT) of " + mebibytes(v.MemoryLimit.Bytes); {
		case v.MemoryLimit.Bytes == 0:
		case v.MemoryLimit.Perhaps:
			limit = ", which may be since " + near
		default:
			limit = ", since " + near
		}
		return fmt.Sprintf("Allocating and collecting garbage bounds it: %s of its CPU time", percent(sig[rules.Allocating])) + limit +
			v.in("; %[1]s of the bytes are allocated in %[2]s") + "."
	case rules.Syscall:
		return fmt.Sprintf("System calls bound it: %s of its CPU time", percent(max(sig[rules.Kernel], sig[rules.System]))) + v.in("; %[1]s is in those of %[2]s") + "."
	case rules.Lock:
		return v.lockHeadline()
	case rules.Wait:
		if v.Kind == rules.Accepted || v.NonGo != "" {
			break
		}
		return v.waitHeadline()
	}
	first, _, more := strings.Cut(v.Text(), ". ")
	if more {
		first += "."
	}
	return first
}

func (v statement) lockHeadline() string {
	if v.Kind == rules.Spun {
		return fmt.Sprintf("A lock bounds it: %s of its CPU time is spent acquiring and releasing locks", percent(v.Signals[rules.LockSpin])) + v.in(", most of it in %[2]s") + "."
	}
	text := fmt.Sprintf("A lock bounds it: %s of the requests wait for it at any moment", percent(min(1, v.Signals[rules.LockWait])))
	if h := v.Holder; h != nil {
		return text + "; it is held by " + h.Name() + strings.Replace(h.Doing(), "; while it is held,", ", where", 1) + "."
	}
	return text + v.in("; it is acquired in %[2]s") + "."
}

func (v statement) waitHeadline() string {
	sig := v.Signals
	text := fmt.Sprintf("Waiting %s bounds it: %s of the requests' time", stacks.WaitKind(v.Kind).Text(), percent(sig[rules.WaitTop]))
	if sig[rules.WorkersWait] > sig[rules.WaitTop] {
		text = fmt.Sprintf("Waiting %s bounds it: %s of the workers' time", stacks.WaitKind(v.Kind).Text(), percent(sig[rules.WorkersWait]))
	}
	text += v.in(", in %[2]s")
	if h := v.Taken; h != nil {
		text += strings.Replace(h.Doing(), "; while it is held,", "; while one is taken,", 1)
	}
	serial := v.Serial != "" && sig[rules.SerialBusy] >= rules.Defaults.Value(rules.ThresholdSerialBusy)
	if serial {
		text += fmt.Sprintf("; one goroutine, %s, ends these waits and is busy %s of the time", v.Serial, percent(sig[rules.SerialBusy]))
	}
	if n := len(v.Behind); n > 0 {
		last := v.Behind[n-1]
		if serial && last.By.Function == v.Serial {
			text += fmt.Sprintf(", %s of it in a wait", percent(min(1, last.Share/sig[rules.SerialBusy])))
		} else {
			text += fmt.Sprintf("; %s itself waits %s of the time", last.By.Function, percent(last.Share))
		}
		if what := last.For.Text(); what != "" {
			text += " " + what
		}
		if last.At.Function != "" {
			text += " at " + last.At.Location()
		}
	}
	return text + "."
}

// lead gives the headline of a verdict on the CPU to a finding that takes far more of the CPU time
// than the first place in the service's own code: TLS handshakes, for example, are in no such place.
func (d *Diagnosis) lead() {
	const far = 2 // times the share of the first place
	best, least := -1, much
	if len(d.Sites) > 0 {
		least = max(much, far*d.Sites[0].Share)
	}
	for i, f := range d.Findings {
		estimated := f.Kind == findings.KindCacheMisses || f.Kind == findings.KindTLBMisses
		if cost := f.Removes.CPU; cost > least && !estimated {
			best, least = i, cost
		}
	}
	if d.Bottleneck != rules.CPU || best < 0 {
		return
	}
	f := &d.Findings[best]
	bounds, _, _ := strings.Cut(d.Headline, ": ")
	d.Headline = strings.TrimSuffix(bounds, ".") + ": " + lowerFirst(f.Text)
	d.Text += " " + f.Text
	d.WhatIf = f.WhatIf
	d.Next = d.withMost(f.Next)
}

// next is what to try against a verdict, with the most that it can bring.
func (d *Diagnosis) next() string { return d.withMost(d.remedy()) }

// withMost adds to what to try the most that it can bring.
func (d *Diagnosis) withMost(text string) string {
	if e := d.WhatIf; text != "" && d.Sheds == "" && e != nil && e.Model != whatif.None {
		text += " (at most " + whatif.Times(e.AtMost) + " the throughput)"
	}
	return text
}

// remedies are what to try against each kind of wait.
var remedies = map[string]string{
	string(stacks.WaitPool):    "a larger pool, or less time with what is taken from it",
	string(stacks.WaitNetwork): "look at the process that answers (--also URL), ask it less often, or for several requests together",
	string(stacks.WaitDisk):    "one sync for several requests (group commit), or a faster disk",
	string(stacks.WaitSyscall): "fewer and larger calls",
	string(stacks.WaitTimer):   "wait for less time, or for an event",
	rules.Accepted:             "accept on more goroutines, or keep connections open",
}

func (d *Diagnosis) remedy() string {
	site := ""
	if len(d.Sites) > 0 {
		site = d.Sites[0].String()
	}
	idle := d.Signals[rules.Utilisation] < rules.Defaults.Value(rules.ThresholdIdleCPU)
	switch {
	case d.Sheds != "" && idle:
		return "a higher limit where it refuses load: there is CPU left"
	case d.Sheds != "" && d.Kind == rules.Refused: // what it uses the CPU for is refusing
		return "a higher limit where it refuses load, or clients that send no more than it permits"
	}
	switch d.Bottleneck {
	case rules.CPU:
		if d.unbranched {
			return "build it with a profile (go build -pgo), or give it more CPUs: no function has much of the cost"
		}
		if site != "" {
			return "make " + site + " cheaper, or call it less often"
		}
	case rules.GC:
		raise := "raise GOGC"
		switch limit := "a higher GOMEMLIMIT than " + mebibytes(d.memoryLimit.Bytes); {
		case d.memoryLimit.Bytes == 0:
		case d.memoryLimit.Perhaps:
			raise += " (with " + limit + ", if its heap is near the limit)"
		default:
			return limit + ", or a smaller live heap: GOGC has no effect at the limit"
		}
		if site != "" {
			return "allocate less in " + site + ", or " + raise
		}
		return "allocate less, or " + raise
	case rules.Lock:
		if d.behind == stacks.WaitDisk {
			return "sync less often while the lock is held (group commit), or a faster disk"
		}
		return "do less while the lock is held, or a lock for each part of what it guards"
	case rules.Syscall:
		return remedies[string(stacks.WaitSyscall)]
	case rules.Wait:
		if text, known := remedies[d.Kind]; known {
			return text
		}
		if d.behind == stacks.WaitDisk {
			return remedies[string(stacks.WaitDisk)]
		}
		return "more goroutines at the other end, several items at a time, or less work for each"
	case rules.Generator:
		return "more machines that generate the load (--agents), or fewer checks of each response"
	case rules.NotLoaded:
		return "more load: a higher -c or rate"
	case rules.Environment:
		return "measure again while other programs use less of the machine"
	case rules.Unknown:
		if d.Kind == rules.Refused {
			return "see why requests fail: the service's log, or dyno load with one client"
		}
		if len(d.Unseen) > 0 {
			return "make visible what was not seen: " + d.Unseen[0]
		}
	}
	return ""
}
