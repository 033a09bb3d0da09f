package soak

import (
	"fmt"
	"strings"
	"text/tabwriter"
	"time"

	"dyno/services/orders/soak/history"
)

// Summary is the result of a soak.
type Summary struct {
	Verdict   history.Verdict
	Commits   int           // of SQL transactions
	Rollbacks int           // of SQL transactions with changes
	Broken    int           // aborted connections and requests
	Restarted bool          // the database was restarted
	Recovered time.Duration // from the database's return until the last client was served again
	Left      int           // the gateway's connections at the end
}

func (r *run) summary() *Summary {
	s := &Summary{Verdict: r.history.Verdict(), Commits: int(r.commits.Load()), Rollbacks: int(r.rollbacks.Load()),
		Broken: int(r.broken.Load()), Left: r.left, Restarted: r.outage.over()}
	s.Recovered = r.outage.took
	return s
}

// String formats a table.
func (s *Summary) String() string {
	v := &s.Verdict
	var out strings.Builder
	t := tabwriter.NewWriter(&out, 0, 0, 2, ' ', 0)
	fmt.Fprintf(t, "reads\t%d: %d found, %d unchanged, %d absent, %d refused, %d behind\n", v.Reads, v.Found, v.Unchanged, v.Absent, v.Refused, v.Behind)
	fmt.Fprintf(t, "reads marked stale\t%d\n", v.MarkedStale)
	fmt.Fprintf(t, "commits by SQL\t%d, %d rolled back\n", s.Commits, s.Rollbacks)
	fmt.Fprintf(t, "submissions\t%d, %d repeated\n", v.Submitted, v.Duplicates)
	fmt.Fprintf(t, "pages of lists\t%d with %d orders\n", v.Lists, v.Listed)
	fmt.Fprintf(t, "answered with 503\t%d\n", v.Unavailable)
	fmt.Fprintf(t, "aborted connections and requests\t%d\n", s.Broken)
	for _, k := range history.Kinds {
		fmt.Fprintf(t, "%s\t%d\n", k, v.Broken[k])
	}
	if s.Restarted {
		fmt.Fprintf(t, "all clients served again\t%v after the database's return\n", s.Recovered.Round(time.Millisecond))
	}
	fmt.Fprintf(t, "connections to the database left\t%d\n", s.Left)
	t.Flush()
	return out.String()
}
