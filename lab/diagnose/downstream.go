package diagnose

import (
	"cmp"
	"fmt"

	"dyno/lab/diagnose/findings"
	"dyno/lab/diagnose/rules"
	"dyno/lab/record"
)

// follow adds the diagnosis of the process that the service calls or, if that was not measured,
// the CPU use of the processes that it calls. The text mentions them if the service waits or its
// bottleneck is unknown.
func (d *Diagnosis) follow(s Subject, t rules.Thresholds) {
	if s.Profiled == nil {
		return
	}
	waits := d.Bottleneck == rules.Wait || d.Bottleneck == rules.Unknown
	if below := s.Profiled.OfDownstream(); below != nil {
		name := called(below)
		found := Subject{Variant: name, Profiled: below}.Diagnose(t)
		d.Downstream = &found
		means := "used by " + name + ", which it calls"
		if len(found.Sites) > 0 {
			means += fmt.Sprintf("; %s of it in %s", percent(found.Sites[0].Share), found.Sites[0].Function)
		}
		d.Evidence = append(d.Evidence, findings.Evidence{Signal: "downstream_cpu", Value: rounded(below.System.TargetCPU), Unit: "cores", Means: means})
		if waits {
			d.Text += " Of its downstream, " + name + ", the same run shows: " + lowerFirst(found.Text)
		}
		return
	}
	var busiest record.Peer
	for _, p := range s.Profiled.System.Peers {
		d.Evidence = append(d.Evidence, findings.Evidence{Signal: "downstream_cpu", Value: rounded(p.CPU), Unit: "cores", Means: "used by " + peer(p) + ", which it calls"})
		if p.CPU >= busiest.CPU {
			busiest = p
		}
	}
	if waits && busiest.PID != 0 {
		d.Text += fmt.Sprintf(" It calls %s, which used %s cores meanwhile; --also with the debug address of that process would show what bounds it.",
			peer(busiest), digits(busiest.CPU))
	}
}

func peer(p record.Peer) string {
	return fmt.Sprintf("%s (process %d, at %s)", cmp.Or(p.Program, "a process"), p.PID, p.Address)
}

func called(r *record.Run) string {
	if r.Target.PID == 0 {
		return cmp.Or(r.Target.Program, "the process named by --also")
	}
	return fmt.Sprintf("%s (process %d)", cmp.Or(r.Target.Program, "a process"), r.Target.PID)
}
