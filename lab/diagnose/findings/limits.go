package findings

import (
	"fmt"
	"strings"
)

// limits finds what a job says it waited for. A job that is bound by somebody else's budget looks idle from
// outside; it alone knows why.
func limits(l *look) []Finding {
	var of = l.Profiled
	if n := len(l.Saturated); n > 0 {
		of = l.Saturated[n-1]
	}
	if of == nil {
		return nil
	}
	told := of.Limits()
	if len(told) == 0 || told[0].Share < limitShare {
		return nil
	}
	first := told[0]
	f := Finding{Kind: KindLimit, worth: first.Share,
		InWords: fmt.Sprintf("It is bound by %s, by its own account: for %s of the time that is what it waited for.", first, percent(first.Share)),
		Next:    limitNext(first.Name)}
	var others []string
	for _, limit := range told {
		f.Evidence = append(f.Evidence, Evidence{"bound_" + limit.Name, round(limit.Share), "of the time", "waited for " + limit.String()})
		if limit != first {
			others = append(others, fmt.Sprintf("%s %s", limit, percent(limit.Share)))
		}
	}
	if len(others) > 0 {
		f.InWords += " Besides: " + strings.Join(others, ", ") + "."
	}
	return []Finding{f}
}

// limitNext is the experiment that would show whether a limit is the limit.
func limitNext(name string) string {
	switch name {
	case "server", "bytes":
		return "give it another server, or one that grants more, and see the throughput follow; more units at once cannot help"
	case "cpu":
		return "give it another core (GOMAXPROCS), or see by the profile what it computes"
	case "disk":
		return "write larger batches, or to another disk"
	}
	return "grant it twice as much of that and see the throughput follow"
}
