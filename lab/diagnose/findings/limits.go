package findings

import (
	"fmt"
	"strings"

	"dyno/lab/diagnose/whatif"
	"dyno/lab/record"
)

// ownLimits finds the resource that a job reported waiting for. A job bound by a remote budget
// looks idle from outside; only the job knows the reason.
func ownLimits(l *figures) []Finding {
	of := l.Profiled
	if n := len(l.Saturated); n > 0 {
		of = l.Saturated[n-1]
	}
	if of == nil {
		return nil
	}
	reported := record.WaitsOf(of)
	if len(reported) == 0 || reported[0].Share < limitShare {
		return nil
	}
	first := reported[0]
	f := Finding{Kind: KindLimit, worth: first.Share, Removes: whatif.Removal{Missing: "how many of the job's units wait at the same time"},
		Text: fmt.Sprintf("It is bound by %s, by its own report: it waited for it %s of the time.", first, percent(first.Share)),
		Next: limitNext(first.Name)}
	var others []string
	for _, limit := range reported {
		f.Evidence = append(f.Evidence, Evidence{"bound_" + limit.Name, round(limit.Share), "of the time", "spent waiting for " + limit.String()})
		if limit != first {
			others = append(others, fmt.Sprintf("%s %s", limit, percent(limit.Share)))
		}
	}
	if len(others) > 0 {
		f.Text += " Besides: " + strings.Join(others, ", ") + "."
	}
	return []Finding{f}
}

// limitNext is the experiment that would confirm a limit.
func limitNext(name string) string {
	switch name {
	case "server", "bytes":
		return "give it another server, or one with a larger budget, and see whether the throughput rises; more units in flight cannot help"
	case "cpu":
		return "give it another core (GOMAXPROCS), or see in the profile what it computes"
	case "disk":
		return "write larger batches, or to another disk"
	}
	return "give it twice as much of that and see whether the throughput rises"
}
