package findings

import (
	"fmt"
	"math"

	"dyno/lab/diagnose/stacks"
	"dyno/lab/diagnose/whatif"
	"dyno/lab/record"
)

// connections finds connections that the service opens anew instead of reusing them: by the CPU
// time of opening them, by the goroutines that net/http starts to dial, and by the gauges of a
// pool.
func connections(l *figures) []Finding {
	share, where := l.cpuWithin(func(s record.Stack) bool { return stacks.Dials.In(s.Frames) })
	perRequest := l.dialsPerRequest()
	if share < dialShare && perRequest < dialsPerTen {
		return l.reported(reopened)
	}
	f := Finding{Kind: KindConnections, Sites: where, Profile: record.ProfileCPU, worth: max(share, dialShare), Removes: whatif.Removal{CPU: share, CPUOf: "spent opening connections"},
		Text: "Connections are opened anew instead of reused",
		Next: "read every response's body to its end and close it, use one http.Transport with MaxIdleConnsPerHost at the number of requests in flight (it is 2 unless set; sql.DB.SetMaxIdleConns likewise), " +
			"and watch TIME_WAIT fall: ss -s"}
	if perRequest > 0 {
		f.Text += fmt.Sprintf(": %s for each request", digits(perRequest))
		f.Evidence = append(f.Evidence, Evidence{"dials_per_request", round(perRequest), "connections", "opened by net/http, by the execution trace"})
	}
	if share > 0 {
		f.Text += fmt.Sprintf(", which takes %s of the CPU time%s", percent(share), in(where))
		f.Evidence = append(f.Evidence, Evidence{"dial_share", round(share), "of CPU time", "spent opening connections"})
	}
	f.Text += "."
	return []Finding{f}
}

func (l *figures) dialsPerRequest() float64 {
	if l.trace == nil || l.trace.Requests <= 0 {
		return 0
	}
	n := 0
	for _, g := range l.trace.Groups {
		if stacks.Dialers.Match(g.Entry.Function) {
			n += g.Goroutines
		}
	}
	return float64(n) / l.trace.Requests
}

// statements finds statements that are prepared for every query: preparing one costs a round trip
// and a parse.
func statements(l *figures) []Finding {
	share, where := l.cpuWithin(func(s record.Stack) bool { return stacks.Prepares.In(s.Frames) })
	of, seconds := l.waits(func(w record.Wait) bool { return stacks.Prepares.In(w.Stack) && stacks.InRequest(w.Stack) })
	waited := 0.0
	if l.requestTime > 0 {
		waited = min(seconds/l.requestTime, 1)
	}
	if share < prepareShare && waited < prepareShare {
		return l.reported(reprepared)
	}
	if len(of) > 0 {
		where = stacks.WaitSites(of)
	}
	return []Finding{{Kind: KindStatements, Sites: where, Profile: record.ProfileCPU, worth: max(share, waited),
		Removes: whatif.Removal{CPU: share, CPUOf: "spent preparing statements", Time: waited},
		Text:    fmt.Sprintf("Statements are prepared anew for their queries%s: that takes %s of the CPU time and %s of the requests' time.", in(where), percent(share), percent(waited)),
		Evidence: []Evidence{{"prepare_share", round(share), "of CPU time", "spent preparing statements"},
			{"prepare_wait_share", round(waited), "of the requests' time", "spent waiting for statements to be prepared"}},
		Next: "prepare once (sql.DB.Prepare at the start, or the driver's statement cache) and run it many times; or let the driver insert the arguments into the text, which saves the round trip; then dyno compare"}}
}

// handshakes finds TLS connections that are set up more often than necessary.
func handshakes(l *figures) []Finding {
	share, where := l.cpuWithin(func(s record.Stack) bool { return stacks.Handshakes.In(s.Frames) })
	if share < handshakeShare {
		return nil
	}
	served, _ := l.cpuWithin(func(s record.Stack) bool { return stacks.ServerHandshakes.In(s.Frames) })
	f := Finding{Kind: KindHandshakes, Sites: where, Profile: record.ProfileCPU, worth: share, Removes: whatif.Removal{CPU: share, CPUOf: "spent on TLS handshakes"},
		Text:     fmt.Sprintf("TLS handshakes take %s of the CPU time", percent(share)),
		Evidence: []Evidence{{"handshake_share", round(share), "of CPU time", "spent setting up TLS"}}}
	if us := l.cpuPerRequest(share); us > 0 {
		f.Text += fmt.Sprintf(", %s per request", micros(us))
		f.Evidence = append(f.Evidence, Evidence{"handshake_per_request", round(us), "us", "spent setting up TLS"})
	}
	if served >= share/2 {
		f.Text += ", most of it for clients that connect."
		f.Next = "keep connections open (Server.IdleTimeout), let clients resume (session tickets), use an ECDSA P-256 key in place of RSA; then dyno compare"
	} else {
		f.Text += ", most of it for outgoing connections."
		f.Next = "reuse connections (one http.Transport, bodies read to their end) and a tls.Config with a ClientSessionCache; then dyno compare"
	}
	return []Finding{f}
}

// acceptQueue finds connections that waited to be accepted, or were refused.
func acceptQueue(l *figures) []Finding {
	overflows, fullest, limit := 0.0, 0.0, int64(0)
	for _, r := range l.counted {
		if !r.System.Seen {
			continue
		}
		overflows = math.Max(overflows, r.System.ListenOverflows)
		if r.System.AcceptLimit > 0 && float64(r.System.AcceptQueue)/float64(r.System.AcceptLimit) > fullest {
			fullest, limit = float64(r.System.AcceptQueue)/float64(r.System.AcceptLimit), r.System.AcceptLimit
		}
	}
	if overflows*3600 < acceptPerHour && fullest < acceptNearly {
		return nil
	}
	f := Finding{Kind: KindAcceptQueue, worth: 0.5, // a refused client gets no service at all
		Text:     fmt.Sprintf("The accept queue overflows: %s connections a second were refused, machine-wide.", digits(overflows)),
		Evidence: []Evidence{{"listen_overflows", round(overflows), "1/s", "connections refused because an accept queue was full, machine-wide"}},
		Next:     "raise net.core.somaxconn (Go uses it as the backlog when a listener opens), accept in a goroutine that does only that, let clients keep their connections"}
	if fullest >= acceptNearly {
		f.Text += fmt.Sprintf(" The target's accept queue was filled to %s of its capacity of %d.", percent(fullest), limit)
		f.Evidence = append(f.Evidence, Evidence{"accept_queue_full", round(fullest), "of its limit", "highest fill of the target's listener"})
	}
	if overflows == 0 {
		f.Text = fmt.Sprintf("The accept queue nearly overflows: it was filled to %s of its capacity of %d.", percent(fullest), limit)
	}
	return []Finding{f}
}
