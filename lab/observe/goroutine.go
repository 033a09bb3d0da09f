package observe

import (
	"cmp"
	"slices"

	"dyno/lab/diagnose/stacks"
	"dyno/lab/record"
)

// lonely is one goroutine that exists for all of the time, alone with its function.
type lonely struct {
	entry     record.Frame
	low, high sample // busy, 0 in looks in which it was not alone: without and with waits of which the trace does not show whether they are work
	asleep    float64
	waits     int64 // that ended
}

// goroutines lists the single goroutines that are busy. One is busy while it runs, is ready to run,
// or waits for something that is its own work: a lock, a file, a reply. It is not while it waits for
// more to do, nor while it waits in one place for all of a look: that shows neither.
func (s *seen) goroutines() (out []Resource) {
	all := map[string]*lonely{}
	for i, t := range s.looks {
		for _, g := range t.Groups {
			if g.Goroutines != 1 || stacks.Standard(g.Entry.Function) || lived(g) < alive*t.Seconds {
				continue
			}
			one := all[g.Entry.Function]
			if one == nil {
				one = &lonely{g.Entry, make(sample, len(s.looks)), make(sample, len(s.looks)), 0, 0}
				all[g.Entry.Function] = one
			}
			var asleep float64
			one.low[i], one.high[i], asleep = work(t, g, s.moments)
			one.asleep += asleep / float64(len(s.looks))
			for _, w := range t.Waits {
				if w.Entry.Function == g.Entry.Function {
					one.waits += w.Count
				}
			}
		}
	}
	for _, one := range all {
		busy, low, _ := one.low.mean()
		most, _, high := one.high.mean()
		low, high = widened(low, high, len(s.looks), float64(one.waits))
		if clip(high) < quiet {
			continue
		}
		r := Resource{Kind: KindGoroutine, Name: one.entry.Function, Place: place(one.entry), Low: clip(low), High: clip(high)}
		if most-busy < quiet {
			r.Busy = new(clip(busy))
		}
		if one.asleep >= quiet {
			r.Detail = "it sleeps for " + Percent(one.asleep) + " of the time, which does not count"
		}
		out = append(out, r)
	}
	slices.SortFunc(out, func(a, b Resource) int {
		return cmp.Or(cmp.Compare(b.Low+b.High, a.Low+a.High), cmp.Compare(a.Name, b.Name))
	})
	return out[:min(len(out), maxListed)]
}

// alive is the share of a look for which a goroutine must have existed: one that a request started
// may be the only one of its function, too.
const alive = 0.95

// work returns for which share of a look a goroutine worked, at least and at most, and slept. Of a
// wait for a peer, in a system call or for something to read, a look does not show whether it is
// for a reply or for the next message, nor of one on a sync.WaitGroup whether those goroutines do its work; nor do
// profiles of the goroutines show whether a wait for a lock or a group ever ends.
func work(t *record.Trace, g record.Group, moments bool) (low, high, asleep float64) {
	low = g.Running + g.Runnable
	if moments {
		high = g.Syscall
	}
	for _, w := range t.Waits {
		if w.Entry.Function != g.Entry.Function || w.Count == 0 && !moments {
			continue
		}
		switch kind := stacks.What(w); {
		case kind == stacks.WaitDisk && !reads(w.Stack):
			low += w.Seconds
		case kind == stacks.WaitTimer && w.Reason == "sleep":
			asleep += w.Seconds
		case !moments && (kind == stacks.WaitLock || kind == stacks.WaitPool || kind == stacks.WaitGC):
			low += w.Seconds
		case !moments && kind == stacks.WaitGroup, kind == stacks.WaitLock, kind == stacks.WaitNetwork, kind == stacks.WaitSyscall, kind == stacks.WaitDisk:
			high += w.Seconds
		}
	}
	return low / t.Seconds, (low + high) / t.Seconds, asleep / t.Seconds
}

func reads(frames []record.Frame) bool {
	return slices.ContainsFunc(frames, func(f record.Frame) bool { return f.Function == "os.(*File).Read" })
}

// estimated makes a trace from profiles of the goroutines; nil: there is none. One that is in a system call in all of them may
// work or wait, and does not count as one that runs.
func estimated(p *record.Profile) *record.Trace {
	if p.Samples == 0 {
		return nil
	}
	named := *p
	named.Stacks = slices.Clone(p.Stacks)
	for i, s := range named.Stacks {
		named.Stacks[i].Frames = unwrapped(s.Frames)
	}
	t, _ := stacks.Moments(&named, nil)
	for _, s := range named.Stacks {
		if len(s.Frames) == 0 || stacks.ClassOf(s.Frames) != stacks.Syscall || stacks.What(record.Wait{Stack: s.Frames}) == stacks.WaitDisk {
			continue
		}
		for i, g := range t.Groups {
			if n := s.Value / float64(p.Samples); g.Entry.Function == s.Frames[len(s.Frames)-1].Function {
				t.Groups[i].Running, t.Groups[i].Syscall = max(0, g.Running-n), g.Syscall+n
			}
		}
	}
	return t
}
