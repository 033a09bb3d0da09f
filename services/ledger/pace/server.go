package pace

import (
	"maps"
	"math"
	"time"

	"dyno/parts/aimd"
	"dyno/services/ledger/history"
	"dyno/services/ledger/rippled"
)

const (
	// allowedRequests and allowedBytes are what the stingiest public servers (Clio's) allow.
	allowedRequests = 20.0        // requests/s
	allowedBytes    = 1_000_000.0 // bytes/s
	// leftAlone is the share of a known budget that may be used without it being exceeded.
	leftAlone = 0.8
	// startRequests is where the rates begin: within what is allowed.
	startRequests = 16.0 // requests/s
	// startBytes is that many large ledgers.
	startBytes = startRequests * ledgerBytes // bytes/s
	// ledgerBytes is what an answer is taken to have before one came: a ledger of 90 transactions.
	ledgerBytes = 187_000.0
	// weight of an answer in the averages of success, duration and size.
	weight = 1.0 / 16
	// coolFirst is how long a server in trouble is left alone first; each further time twice as long.
	// At most, so that it is tried again within the time for which a download waits for somebody who answers (30 s).
	coolFirst, coolMost = time.Second, 15 * time.Second
	// coolBlamed is for one that gave liesInARow wrong answers; less again when it answers well. One that lies now and then
	// stays in use: its score keeps it last, every lie is found, and what else it says is worth having. Of a server that
	// lies in 30% of its answers, one in 400 begins such a row.
	coolBlamed, coolBlamedMost = 50 * time.Millisecond, 10 * time.Second
	liesInARow                 = 5
	// failures in a row after which a server cools down.
	failures = 3
	// pauseSlow is how long nobody asks a server that said slowDown and not until when: the rest of a window.
	pauseSlow = time.Second
	// maxMissing bounds what is remembered of ledgers that a server does not have although it says so.
	maxMissing = 4096
	// missingFor is how long: behind one address there may be several servers, and one may be about to get it.
	missingFor = 2 * time.Second
	// fresh is how long what a server says it has is taken for all it has. Then it may have more at the top: the network
	// adds a ledger every 3 to 4 s.
	fresh = time.Second
)

// server is how things stand with one server. All is under the pool's lock.
type server struct {
	source   source
	name     string
	requests *aimd.Rate
	bytes    *aimd.Rate

	inFlight int
	complete history.Set // empty: not known
	known    bool
	learnt   time.Time            // when it said so
	missing  map[uint32]time.Time // when it answered that it has not
	until    time.Time            // not asked before
	promised time.Time            // until when it asked to be left alone
	coming   time.Duration
	lying    time.Duration
	trial    bool // one request at a time, until one goes well
	failed   int  // in a row

	success  float64 // average, 0 to 1
	took     float64 // average, seconds
	size     float64 // average, bytes
	trust    float64 // 0 to 1
	lies     [2]int  // in a row: answers that were wrong in themselves, and such as were not what the ledger above names
	warned   warnings
	standing Standing
}

func newServer(s source, most float64) *server {
	return &server{
		source: s, name: s.Name(),
		requests: aimd.New(aimd.Config{Start: startRequests, Floor: 0.2, Ceiling: most}),
		bytes:    aimd.New(aimd.Config{Start: startBytes, Floor: 10_000}),
		missing:  map[uint32]time.Time{},
		coming:   coolFirst, lying: coolBlamed,
		success: 1, size: ledgerBytes, trust: 1,
		standing: Standing{Server: s.Name(), Blamed: map[string]int{}, Troubles: map[string]int{}},
	}
}

// reason is what holds a request back.
type reason uint8

const (
	free reason = iota
	byRequests
	byBytes
	rising // no budget is known: it is the rate that has not risen so far yet
	connections
	trouble
)

// ready says when a server may be asked, and what holds it until then.
func (s *server) ready(now time.Time) (time.Duration, reason) {
	if wait := s.until.Sub(now); wait > 0 {
		return wait, trouble
	}
	if s.trial && s.inFlight > 0 {
		return long, trouble
	}
	if s.inFlight >= s.source.InFlight() {
		return long, connections
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
		return wait, rising
	}
	return wait, held
}

// likelihood is how likely a server is to have a ledger.
type likelihood uint8

const (
	lacks   likelihood = iota // it says so
	denies                    // asked for the ledger, it answered that it has not, a moment ago
	mayHave                   // it is above what the server said it has, which is some time ago
	says                      // or it is not known what the server has
)

func (s *server) has(index uint32, now time.Time) likelihood {
	at, asked := s.missing[index]
	switch {
	case index == 0:
		return says
	case asked && now.Sub(at) < missingFor:
		return denies
	case !s.known || s.complete.Has(index):
		return says
	}
	if n := len(s.complete); n > 0 && index > s.complete[n-1].To && now.Sub(s.learnt) >= fresh {
		return mayHave
	}
	return lacks
}

func (s *server) learn(info rippled.Info, now time.Time) {
	s.complete, s.known, s.learnt = info.Complete, true, now
	clear(s.missing)
}

// deny takes note of a ledger that the server has not.
func (s *server) deny(now time.Time, index uint32) {
	if len(s.missing) >= maxMissing {
		maps.DeleteFunc(s.missing, func(_ uint32, at time.Time) bool { return now.Sub(at) >= missingFor })
	}
	if index > 0 && len(s.missing) < maxMissing {
		s.missing[index] = now
	}
}

// score is what is expected of a server: how often it answers well, and how fast. 0 to 1.
func (s *server) score() float64 {
	return s.success * s.trust / (1 + s.took)
}

func (s *server) take(p *Pool, index uint32, now time.Time) *Member {
	m := &Member{pool: p, server: s, index: index, size: s.size}
	s.inFlight++
	s.requests.Take(now, 1)
	s.bytes.Take(now, m.size)
	return m
}

// good takes note of a good answer.
func (s *server) good(now time.Time, bytes int, took time.Duration, warned bool) {
	s.requests.Good(now, 1)
	s.bytes.Good(now, float64(bytes))
	s.success += weight * (1 - s.success)
	s.took += weight * (took.Seconds() - s.took)
	s.size += weight * (float64(bytes) - s.size)
	s.trust = min(1, s.trust*1.001)
	s.failed, s.trial, s.coming = 0, false, coolFirst
	s.lying = max(s.lying/2, coolBlamed)
	s.standing.Good++
	if !warned {
		s.unwarned(now)
		return
	}
	s.standing.Warned++
	s.warning(now)
}

// slow takes note of slowDown.
func (s *server) slow(now time.Time, after time.Duration) {
	s.standing.Slowed++
	for _, r := range s.suspects(now) {
		r.Over(now)
	}
	if after > 0 {
		s.promised = later(s.promised, now.Add(after))
	} else {
		after = pauseSlow
	}
	s.until = later(s.until, now.Add(after))
}

// suspects are the budgets that may be nearly used up or exceeded: nobody says which. It is the one of which more is
// used, by the measure of what public servers allow, or both where that is much the same. But one that is known,
// and of which much was left, it is not.
func (s *server) suspects(now time.Time) []*aimd.Rate {
	requests, bytes := s.requests.Used(now), s.bytes.Used(now)
	share := requests/allowedRequests - bytes/allowedBytes
	alike := max(requests/allowedRequests, bytes/allowedBytes) / 3
	byRequests, byBytes := share > -alike, share < alike
	if byRequests && byBytes {
		some, more := requests > leftAlone*s.requests.LastMax(), bytes > leftAlone*s.bytes.LastMax()
		byRequests, byBytes = some || !more, more || !some
	}
	switch {
	case !byBytes:
		return []*aimd.Rate{s.requests}
	case !byRequests:
		return []*aimd.Rate{s.bytes}
	}
	return []*aimd.Rate{s.requests, s.bytes}
}

func later(a, b time.Time) time.Time {
	if a.After(b) {
		return a
	}
	return b
}

// cool leaves a server alone for a while, and then tries it with one request.
func (s *server) cool(now time.Time, d time.Duration) {
	s.until = later(s.until, now.Add(d))
	s.trial = true
}

// bad takes note of trouble.
func (s *server) bad(now time.Time, index uint32, kind rippled.Kind, after time.Duration) {
	s.standing.Troubles[kind.String()]++
	switch kind {
	case rippled.SlowDown:
		s.slow(now, after)
		return
	case rippled.NotFound:
		s.deny(now, index)
		return // nothing is wrong with it otherwise
	}
	s.success -= weight * s.success
	s.failed++
	if after > 0 {
		s.until = later(s.until, now.Add(after))
		if kind != rippled.Gone { // then it is not the server who says so, but who dials it
			s.promised = s.until
		}
	}
	// One that is not synced, refuses or is too busy says so itself; of the rest, one in a while means nothing.
	if s.failed >= failures || s.trial || kind == rippled.NotSynced || kind == rippled.Refused || kind == rippled.Busy {
		s.cool(now, s.coming)
		s.coming = min(2*s.coming, coolMost)
	}
}

func (s *server) blame(now time.Time, reason string, stage stage) {
	if len(s.standing.Blamed) < maxReasons || s.standing.Blamed[reason] > 0 {
		s.standing.Blamed[reason]++
	} else {
		s.standing.Blamed["other"]++
	}
	s.trust = math.Max(s.trust/2, 1e-6)
	if s.lies[stage]++; s.lies[stage] < liesInARow {
		return
	}
	s.cool(now, s.lying)
	s.lying = min(2*s.lying, coolBlamedMost)
}
