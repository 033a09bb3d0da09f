package diagnose

import (
	"dyno/lab/record"
)

// noteUnseen lists what could not be measured.
func (e *evidence) noteUnseen(main, profiled *record.Run) {
	e.unseen = append(e.unseen, main.Target.DebugRefused...)
	fix := "net/http/pprof on its debug address (--debug URL) would show that, dyno/agent more"
	if len(main.Target.DebugRefused) > 0 {
		fix = "profiles from its debug address would show that"
	}
	switch t := main.Target; {
	case t.NotGo && !t.Pprof:
		e.nonGo = describeNonGo(t, e.cpu, e.unprofiled)
		e.unseen = append(e.unseen, e.nonGo)
	case t.Agent && t.Pprof:
	case t.Agent:
		e.unseen = append(e.unseen, "the target has the agent but not net/http/pprof: which code computes, allocates, waits and holds locks was not seen from inside; "+
			"one line beside the agent's would add it: profiles.Mount(mux, agent), of package dyno/agent/profiles")
	case t.Pprof:
		e.unseen = append(e.unseen, "the target has net/http/pprof but not the agent: the runtime's own figures on GC and mutexes, and gauges, were not seen; "+
			"contention by call site shows only if the program sets runtime.SetMutexProfileFraction; importing dyno/agent would add them")
	case main.System.Seen && e.cpu != nil:
		e.unseen = append(e.unseen, "the target was seen from outside only: what it spends its CPU on was sampled by the kernel, but what its requests wait for and what they allocate is unknown; "+fix)
	case main.System.Seen:
		e.unseen = append(e.unseen, "the target was seen from outside only: what it spends its CPU on and what it waits for is unknown; "+fix)
	case len(t.DebugRefused) > 0:
		e.unseen = append(e.unseen, "the target's process could not be seen: name it with --pid")
	default:
		e.unseen = append(e.unseen, "neither the target's process nor its debug address could be seen: name one with --pid or --debug")
	}
	if profiled != nil {
		for _, p := range profiled.Profiles {
			switch {
			case p.Why == "" || e.nonGo != "":
			case p.Kind == record.ProfileTrace && e.trace != nil:
				e.unseen = append(e.unseen, "execution trace: "+p.Why+"; goroutine profiles at several moments were read instead, which do not show what ends a wait")
			default:
				e.unseen = append(e.unseen, p.Kind+" profile: "+p.Why)
			}
		}
	}
}
