package servers

import (
	"maps"
	"math"
	"time"

	"dyno/services/ledger/servers/response"
	"dyno/services/ledger/xrpl/history"
)

const (
	// allowedRequests and allowedBytes are the limits of the strictest public servers (Clio).
	allowedRequests = 20.0        // requests/s
	allowedBytes    = 1_000_000.0 // bytes/s
	// safeShare is the share of a known budget that may be used without it being exceeded.
	safeShare = 0.8
	// startRequests is the initial rate: within what is allowed.
	startRequests = 16.0 // requests/s
	// startBytes is the initial byte rate: startRequests large ledgers a second.
	startBytes = startRequests * ledgerBytes // bytes/s
	// ledgerBytes is the assumed size of the first answer: a ledger of 90 transactions.
	ledgerBytes = 187_000.0
	// weight of an answer in the moving averages of success, latency and size.
	weight = 1.0 / 16
	// coolFirst is a failing server's first cooldown; each further one doubles, up to coolMost, so
	// that the server is probed again before a download stops for want of right answers (30 s).
	coolFirst, coolMost = time.Second, 15 * time.Second
	// coolFaults is the first cooldown after faultsInARow wrong answers in a row; each further one
	// doubles, each good answer halves it. A server that is sometimes wrong stays in use: its low
	// score makes it the last choice, every wrong answer is detected, and its right answers are
	// useful. For a server that is wrong in 30% of its answers, one in 400 begins such a row.
	coolFaults, coolFaultsMost = 50 * time.Millisecond, 10 * time.Second
	faultsInARow               = 5
	// failures in a row after which a server cools down.
	failures = 3
	// pauseSlow is the pause after a slowDown without a Retry-After: the rest of a window.
	pauseSlow = time.Second
	// maxMissing bounds the remembered ledgers that a server claims but answered "not found" for.
	maxMissing = 4096
	// missingFor is how long such an answer is remembered: one address may have several servers
	// behind it, and one of them may be about to get the ledger.
	missingFor = 2 * time.Second
	// fresh is how long a server's claimed range is taken as complete. After that it may have more
	// at the top: the network adds a ledger every 3 to 4 s.
	fresh = time.Second
)

// server is the state of one server. The pool's lock guards all of it.
type server struct {
	source   source
	name     string
	requests *rate
	bytes    *rate

	inFlight      int
	complete      history.Set // claimed ledgers; empty: not known
	known         bool
	learnt        time.Time            // time of that claim
	network       *uint32              // id of its network; nil: not known
	missing       map[uint32]time.Time // ledgers it answered "not found" for, and when
	until         time.Time            // end of the cooldown or pause
	retryUntil    time.Time            // end of the server's own Retry-After
	nextCooldown  time.Duration        // after failures
	faultCooldown time.Duration        // after wrong answers
	cooled        time.Time            // start of the last cooldown
	trial         bool                 // half-open: one request at a time, until one succeeds
	failed        int                  // failures in a row

	successRate float64 // average, 0 to 1
	latency     float64 // average, seconds
	size        float64 // average, bytes
	trust       float64 // 0 to 1
	// Wrong answers in a row, by stage: inconsistent, or not the ledger that the one above names.
	faultRow [2]int
	warned   warnings
	stats    ServerStats
}

func newServer(s source, most float64) *server {
	return &server{
		source: s, name: s.Name(),
		requests:     newRate(rateConfig{Start: startRequests, Floor: 0.2, Ceiling: most}),
		bytes:        newRate(rateConfig{Start: startBytes, Floor: 10_000}),
		missing:      map[uint32]time.Time{},
		nextCooldown: coolFirst, faultCooldown: coolFaults,
		successRate: 1, size: ledgerBytes, trust: 1,
		stats: ServerStats{Server: s.Name(), Faults: map[string]int{}, Errors: map[string]int{}},
	}
}

// reason is why a request must wait.
type reason uint8

const (
	free reason = iota
	byRequests
	byBytes
	rampingUp // no budget is known yet: the rate is still being raised
	connections
	cooldown
)

// ready returns how long a request to the server must wait, and why.
func (s *server) ready(now time.Time) (time.Duration, reason) {
	if wait := s.until.Sub(now); wait > 0 {
		return wait, cooldown
	}
	if s.trial && s.inFlight > 0 {
		return forever, cooldown
	}
	if s.inFlight >= s.source.InFlight() {
		return forever, connections
	}
	requests, bytes := s.requests.Wait(now), s.bytes.Wait(now)
	wait, held, edge := requests, byRequests, s.requests.LastMax()
	if bytes > requests {
		wait, held, edge = bytes, byBytes, s.bytes.LastMax()
	}
	switch {
	case wait <= 0:
		return 0, free
	case edge == 0:
		return wait, rampingUp
	}
	return wait, held
}

// likelihood is the chance that a server has a ledger.
type likelihood uint8

const (
	lacks   likelihood = iota // the server's claim excludes it
	denies                    // it answered "not found" for the ledger a moment ago
	mayHave                   // the ledger is above its claimed range, and the claim is old
	claims                    // or its range is not known
)

func (s *server) likelihood(index uint32, now time.Time) likelihood {
	at, asked := s.missing[index]
	switch {
	case index == 0:
		return claims
	case asked && now.Sub(at) < missingFor:
		return denies
	case !s.known || s.complete.Has(index):
		return claims
	}
	if n := len(s.complete); n > 0 && index > s.complete[n-1].To && now.Sub(s.learnt) >= fresh {
		return mayHave
	}
	return lacks
}

func (s *server) learn(info response.Info, now time.Time) {
	s.complete, s.known, s.learnt = info.Complete, true, now
	if info.Network != nil {
		s.network = info.Network
	}
	clear(s.missing)
}

func (s *server) deny(now time.Time, index uint32) {
	if len(s.missing) >= maxMissing {
		maps.DeleteFunc(s.missing, func(_ uint32, at time.Time) bool { return now.Sub(at) >= missingFor })
	}
	if index > 0 && len(s.missing) < maxMissing {
		s.missing[index] = now
	}
}

// score is the expected quality of a server, from 0 to 1: success rate, trust and latency.
func (s *server) score() float64 {
	return s.successRate * s.trust / (1 + s.latency)
}

func (s *server) take(p *Pool, index uint32, now time.Time) *Member {
	m := &Member{pool: p, server: s, index: index, size: s.size, taken: now}
	s.inFlight++
	s.requests.Take(now, 1)
	s.bytes.Take(now, m.size)
	return m
}

func (s *server) success(now time.Time, bytes int, took time.Duration, warned bool) {
	s.requests.Good(now, 1)
	s.bytes.Good(now, float64(bytes))
	s.successRate += weight * (1 - s.successRate)
	s.latency += weight * (took.Seconds() - s.latency)
	s.size += weight * (float64(bytes) - s.size)
	s.trust = min(1, s.trust*1.001)
	s.failed, s.trial, s.nextCooldown = 0, false, coolFirst
	s.faultCooldown = max(s.faultCooldown/2, coolFaults)
	s.stats.Good++
	if !warned {
		s.unwarned(now)
		return
	}
	s.stats.Warned++
	s.warning(now)
}

func (s *server) slowDown(now time.Time, after time.Duration) {
	s.stats.Slowed++
	for _, r := range s.limitingBudgets(now) {
		r.Over(now)
	}
	if after > 0 {
		s.retryUntil = later(s.retryUntil, now.Add(after))
	} else {
		after = pauseSlow
	}
	s.until = later(s.until, now.Add(after))
}

// limitingBudgets returns the budgets that may be nearly used up or exceeded, since servers do not
// say which. It is the one with the higher use relative to the limits of public servers, or both
// where these are similar; a known budget with much left is excluded.
func (s *server) limitingBudgets(now time.Time) []*rate {
	requests, bytes := s.requests.Used(now), s.bytes.Used(now)
	share := requests/allowedRequests - bytes/allowedBytes
	alike := max(requests/allowedRequests, bytes/allowedBytes) / 3
	byRequests, byBytes := share > -alike, share < alike
	if byRequests && byBytes {
		some, more := requests > safeShare*s.requests.LastMax(), bytes > safeShare*s.bytes.LastMax()
		byRequests, byBytes = some || !more, more || !some
	}
	switch {
	case !byBytes:
		return []*rate{s.requests}
	case !byRequests:
		return []*rate{s.bytes}
	}
	return []*rate{s.requests, s.bytes}
}

func later(a, b time.Time) time.Time {
	if a.After(b) {
		return a
	}
	return b
}

// cool starts a cooldown, after which the server is probed with one request.
func (s *server) cool(now time.Time, d time.Duration) {
	s.until = later(s.until, now.Add(d))
	s.cooled, s.trial = now, true
}

func (s *server) failure(now time.Time, m *Member, kind response.Code, after time.Duration) {
	s.stats.Errors[kind.String()]++
	switch kind {
	case response.SlowDown:
		s.slowDown(now, after)
		return
	case response.NotFound:
		s.deny(now, m.index)
		return // not a failure of the server
	}
	s.successRate -= weight * s.successRate
	s.failed++
	if after > 0 {
		s.until = later(s.until, now.Add(after))
		if kind != response.Gone { // Gone: RetryAfter is the client's own redial wait
			s.retryUntil = s.until
		}
	}
	if s.trial && !m.taken.After(s.cooled) {
		return // sent before the cooldown: a broken connection fails all its requests
	}
	// An error that the server reports about itself counts immediately; others only in a row.
	if s.failed >= failures || s.trial || kind == response.NotSynced || kind == response.Refused || kind == response.Busy {
		s.cool(now, s.nextCooldown)
		s.nextCooldown = min(2*s.nextCooldown, coolMost)
	}
}

func (s *server) recordFault(now time.Time, reason string, stage stage) {
	if len(s.stats.Faults) < maxReasons || s.stats.Faults[reason] > 0 {
		s.stats.Faults[reason]++
	} else {
		s.stats.Faults["other"]++
	}
	s.trust = math.Max(s.trust/2, 1e-6)
	if s.faultRow[stage]++; s.faultRow[stage] < faultsInARow {
		return
	}
	s.cool(now, s.faultCooldown)
	s.faultCooldown = min(2*s.faultCooldown, coolFaultsMost)
}
