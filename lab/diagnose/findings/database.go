package findings

import (
	"fmt"

	"dyno/lab/diagnose/facts"
	"dyno/lab/diagnose/stacks"
	"dyno/lab/diagnose/whatif"
	"dyno/lab/record"
)

// Database returns the findings about a pool of connections or its statements in the gauges that
// the service reported during a run.
func Database(r *record.Run, d facts.Database) []Finding {
	var out []Finding
	for _, find := range []func(*record.Run, facts.Database) (Finding, bool){starved, reopened, reprepared, undated} {
		if f, ok := find(r, d); ok {
			out = append(out, f)
		}
	}
	return out
}

// reported applies find to all databases in the gauges of the counted runs, and returns the
// finding with the highest worth, if there is one.
func (l *figures) reported(find func(*record.Run, facts.Database) (Finding, bool)) []Finding {
	var worst []Finding
	for _, r := range l.counted {
		for _, d := range facts.Databases(r) {
			if f, ok := find(r, d); ok && (worst == nil || f.worth > worst[0].worth) {
				worst = []Finding{f}
			}
		}
	}
	return worst
}

func starved(r *record.Run, d facts.Database) (Finding, bool) {
	return waitedFor(r, d.Name+"_wait_seconds", d.Waiting)
}

// waitedFor finds a starved pool: one whose connections at least poolShare of the requests in
// flight wait for. waiting is the mean number of waiting requests; NaN: unknown.
func waitedFor(r *record.Run, gauge string, waiting float64) (Finding, bool) {
	n := facts.InFlight(r)
	if n <= 0 || !(waiting/n >= poolShare) {
		return Finding{}, false
	}
	share := min(waiting/n, 1)
	return Finding{Kind: KindPool, worth: share, Removes: waitsForPool(share),
		Text: fmt.Sprintf("%s requests wait for a free connection at any moment, %s of their time, by the gauge %s.", digits(waiting), percent(share), gauge),
		Evidence: []Evidence{{"pool_share", round(share), "of the requests' time", "spent waiting for a free connection"},
			{gauge, round(waiting), "s/s", "time waited by all requests together"}},
		Next: "twice as many connections (" + poolSettings + ") and dyno compare: if the capacity does not rise, the other side is the limit, or connections are held too long"}, true
}

// waitsForPool is the removal of all waits for a pool, as with a pool that is large enough. share
// is the share of the requests' time that they take.
func waitsForPool(share float64) whatif.Removal {
	return whatif.Removal{Waits: []string{string(stacks.WaitPool)}, Time: min(share, 1)}
}

// poolSettings names the settings that limit the size of well-known pools.
const poolSettings = "sql.DB.SetMaxOpenConns, pgxpool.Config.MaxConns, http.Transport.MaxConnsPerHost"

func reopened(_ *record.Run, d facts.Database) (Finding, bool) {
	if !(d.Acquires >= leastReported) || !(d.Reuse < reuseShare) {
		return Finding{}, false
	}
	return Finding{Kind: KindConnections, worth: 1 - d.Reuse,
		Text:     fmt.Sprintf("Of the connections that %s handed out, %s had been used before: the others were new.", d.Name, percent(d.Reuse)),
		Evidence: []Evidence{{"reuse", round(d.Reuse), "of acquires", "that got an existing connection"}},
		Next:     "keep as many idle connections as are used concurrently (sql.DB.SetMaxIdleConns; pgxpool.Config.MaxConnLifetime and MaxConnIdleTime in minutes), find what closes them (a cancelled context closes its connection), then dyno compare"}, true
}

func reprepared(_ *record.Run, d facts.Database) (Finding, bool) {
	if !(d.Statements >= leastReported) || !(d.Prepared < preparedShare) {
		return Finding{}, false
	}
	return Finding{Kind: KindStatements, worth: 1 - d.Prepared,
		Text:     fmt.Sprintf("Of the statements that %s sent, %s were in the statement cache: the others had to be prepared first, a round trip each.", d.Name, percent(d.Prepared)),
		Evidence: []Evidence{{"statement_hits", round(d.Prepared), "of statements", "already prepared"}},
		Next:     "the same text for the same query (arguments as $1, a list of any length as = ANY($1)), a statement cache that holds all of them (statement_cache_capacity of pgx); then dyno compare"}, true
}

func undated(_ *record.Run, d facts.Database) (Finding, bool) {
	if !(d.Statements >= leastReported) || !(d.Dated < 1) {
		return Finding{}, false
	}
	return Finding{Kind: KindDeadlines, worth: deadlineShare * (1 - d.Dated),
		Text:     fmt.Sprintf("%s of the statements that %s sent had no deadline: neither a request's timeout nor a client's disconnect ends those.", percent(1-d.Dated), d.Name),
		Evidence: []Evidence{{"dated_share", round(d.Dated), "of statements", "sent with a deadline"}},
		Next:     "pass the request's context on to every query, with a timeout (context.WithTimeout); stop the database (kill -STOP) for a second, and see whether requests end at their deadline"}, true
}
