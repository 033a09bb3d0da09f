package findings

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"dyno/lab/diagnose/facts"
	"dyno/lab/diagnose/stacks"
	"dyno/lab/record"
)

// pools finds requests that wait for a connection of a pool: by the trace, and by gauges of the
// time waited. The number of waits is not used: a thousand waits of a microsecond are harmless.
func pools(l *figures) []Finding {
	of, seconds := l.waits(func(w record.Wait) bool { return stacks.KindOf(w) == stacks.WaitPool })
	if l.requestTime > 0 && seconds/l.requestTime >= poolShare {
		return []Finding{l.starvedByTrace(of, seconds/l.requestTime)}
	}
	return l.starvedByGauge()
}

func (l *figures) starvedByTrace(of []record.Wait, share float64) Finding {
	f := Finding{Kind: KindPool, Sites: stacks.WaitSites(of), worth: min(share, 1), Removes: waitsForPool(share),
		Text: fmt.Sprintf("Requests wait %s of their time for a free connection or slot%s, %s each time.", percent(min(share, 1)), in(stacks.WaitSites(of)), lasting(mean(of))),
		Evidence: []Evidence{{"pool_share", round(min(share, 1)), "of the requests' time", "spent waiting for a free connection or slot"},
			{"pool_mean_wait", round(float64(mean(of)) / 1e3), "us", "mean wait when none was free"}},
		Next: "twice as many connections or slots (" + poolSettings + ") and dyno compare: if the capacity does not rise, the other side is the limit, or connections are held too long"}
	if holders := stacks.Sites(stacks.Wakers(of)); len(holders) > 0 {
		f.Text += fmt.Sprintf(" Mostly %s returns them.", holders[0].String())
	}
	return f
}

// starvedByGauge reads gauges named ..._wait_seconds (or ..._wait_seconds_total): sums of time
// waited, such as sql.DBStats.WaitDuration. Their growth per second is the mean number of waiting
// requests.
func (l *figures) starvedByGauge() []Finding {
	var worst []Finding
	for _, r := range l.counted {
		gauges := facts.Gauges(r)
		for _, name := range slices.Sorted(maps.Keys(gauges)) {
			if !strings.HasSuffix(strings.TrimSuffix(name, "_total"), "_wait_seconds") {
				continue
			}
			if f, ok := waitedFor(r, name, gauges[name].PerSecond()); ok && (worst == nil || f.worth > worst[0].worth) {
				worst = []Finding{f}
			}
		}
	}
	return worst
}

// deadlines finds requests that wait in calls that take no context. A trace does not show whether
// other calls have a deadline; a gauge of the service may.
func deadlines(l *figures) []Finding {
	var calls, instead []string
	of, seconds := l.waits(func(w record.Wait) bool {
		if !stacks.InRequest(w.Stack) || stacks.What(w) == stacks.WaitIdle {
			return false
		}
		call, with, blind := stacks.Contextless(w.Stack)
		if blind && !slices.Contains(calls, call) {
			calls, instead = append(calls, call), append(instead, with)
		}
		return blind
	})
	if l.requestTime <= 0 || seconds/l.requestTime < deadlineShare {
		return l.reported(undated)
	}
	share := min(seconds/l.requestTime, 1)
	return []Finding{{Kind: KindDeadlines, Sites: stacks.WaitSites(of), worth: deadlineShare,
		Text: fmt.Sprintf("Requests wait %s of their time in %s%s, which takes no context: neither a request's deadline nor a client's disconnect ends that wait.",
			percent(share), strings.Join(calls[:min(3, len(calls))], ", "), in(stacks.WaitSites(of))),
		Evidence: []Evidence{{"deaf_share", round(share), "of the requests' time", "spent waiting in calls that take no context"}},
		Next:     "pass the request's context on (" + instead[0] + "), stop the downstream process (kill -STOP) for a second, and see whether requests end at their deadline"}}
}
