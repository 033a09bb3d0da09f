package soak

import (
	"fmt"
	"slices"
	"strings"
	"text/tabwriter"
	"time"

	"dyno/services/notify/soak/history"
)

// Summary is what a soak came to.
type Summary struct {
	Crashes       int           // several in a row each counted
	Subscriptions int           // ever made
	Unanswered    int           // requests with notices
	SlowestStart  time.Duration // of the processes that were waited for, to their ready line
	Verdict       *history.Verdict
}

func (r *run) summary(v *history.Verdict) *Summary {
	s := &Summary{Crashes: len(v.Crashes), SlowestStart: slices.Max(r.starts), Verdict: v}
	for _, p := range r.history.Posts {
		if p.Answered == history.Never {
			s.Unanswered++
		}
	}
	made := map[string]bool{}
	for _, c := range r.history.Changes {
		made[c.Subscription] = true
	}
	s.Subscriptions = len(made)
	return s
}

// String is a table.
func (s *Summary) String() string {
	v := s.Verdict
	worst := history.Crash{}
	for _, c := range v.Crashes {
		if c.Duplicates > worst.Duplicates {
			worst = c
		}
	}
	var out strings.Builder
	t := tabwriter.NewWriter(&out, 0, 0, 2, ' ', 0)
	fmt.Fprintf(t, "crashes\t%d\n", s.Crashes)
	fmt.Fprintf(t, "notices acknowledged\t%d\n", v.Acknowledged)
	fmt.Fprintf(t, "posts refused or broken off, then repeated\t%d\n", s.Unanswered)
	fmt.Fprintf(t, "deliveries\t%d\n", v.Deliveries)
	fmt.Fprintf(t, "dead letters\t%d\n", v.Dead)
	fmt.Fprintf(t, "subscriptions made\t%d\n", s.Subscriptions)
	fmt.Fprintf(t, "lost\t%d\n", v.Broken[history.Lost])
	fmt.Fprintf(t, "out of order\t%d\n", v.Broken[history.Reordered])
	fmt.Fprintf(t, "duplicates\t%d of at most %d in flight; %d of %d at worst\n", v.Duplicates, v.Bound, worst.Duplicates, worst.Bound)
	fmt.Fprintf(t, "slowest start\t%v\n", s.SlowestStart.Round(time.Millisecond))
	t.Flush()
	return out.String()
}
