package soak

import (
	"fmt"
	"strings"
	"text/tabwriter"
	"time"

	"dyno/services/orders/soak/history"
)

// Summary is what a soak came to.
type Summary struct {
	Verdict   history.Verdict
	Commits   int           // by SQL
	Rollbacks int           // of transactions that had changed something
	Broken    int           // connections and requests that broke off
	Restarted bool          // the database was
	Recovered time.Duration // from the database's return until the last client was served again
	Left      int           // connections of the gateway at the end
}

func (r *run) summary() *Summary {
	s := &Summary{Verdict: r.history.Verdict(), Commits: int(r.commits.Load()), Rollbacks: int(r.rollbacks.Load()),
		Broken: int(r.broken.Load()), Left: r.left, Restarted: r.outage.over()}
	s.Recovered = r.outage.took
	return s
}

// String is a table.
func (s *Summary) String() string {
	v := &s.Verdict
	var out strings.Builder
	t := tabwriter.NewWriter(&out, 0, 0, 2, ' ', 0)
	fmt.Fprintf(t, "reads\t%d: %d found, %d unchanged, %d absent, %d refused, %d behind\n", v.Reads, v.Found, v.Unchanged, v.Absent, v.Refused, v.Behind)
	fmt.Fprintf(t, "of them marked stale\t%d\n", v.MarkedStale)
	fmt.Fprintf(t, "commits by SQL\t%d, and %d rolled back\n", s.Commits, s.Rollbacks)
	fmt.Fprintf(t, "submissions\t%d, and %d once more\n", v.Submitted, v.Duplicates)
	fmt.Fprintf(t, "pages of lists\t%d with %d orders\n", v.Lists, v.Listed)
	fmt.Fprintf(t, "answered with 503\t%d\n", v.Unavailable)
	fmt.Fprintf(t, "connections and requests that broke off\t%d\n", s.Broken)
	for _, k := range history.Kinds {
		fmt.Fprintf(t, "%s\t%d\n", k, v.Broken[k])
	}
	if s.Restarted {
		fmt.Fprintf(t, "all served again\t%v after the database was back\n", s.Recovered.Round(time.Millisecond))
	}
	fmt.Fprintf(t, "connections to the database left\t%d\n", s.Left)
	t.Flush()
	return out.String()
}
