package servers

import (
	"context"
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"dyno/parts/quicktest"
	"dyno/services/ledger/servers/response"
)

// limiter is how a server limits its clients. The server calls arrive for a request, and answer
// with its size.
type limiter interface {
	arrive(now time.Time) (refused bool)
	answer(now time.Time, bytes int) (warned bool)
	budget(size float64) float64 // requests/s
}

// clio counts requests and bytes in windows of a second.
type clio struct {
	phase    time.Duration
	window   int64
	requests int
	bytes    int
}

func (c *clio) roll(now time.Time) {
	if w := (now.UnixNano() + int64(c.phase)) / int64(time.Second); w != c.window {
		c.window, c.requests, c.bytes = w, 0, 0
	}
}

func (c *clio) arrive(now time.Time) bool {
	c.roll(now)
	c.requests++
	return c.requests > 20 || c.bytes > 1_000_000
}

func (c *clio) answer(now time.Time, bytes int) bool {
	c.roll(now)
	c.bytes += bytes
	return c.bytes > 1_000_000
}

func (c *clio) budget(size float64) float64 { return min(20, 1_000_000/size) }

// balance is rippled's: 20 for each request, decayed with a time constant of 32 s; a warning from
// 5,000 on, once a second, which costs 4,000, and refusal from 25,000 on.
type balance struct {
	value  float64
	at     time.Time
	warned int64 // the second of the last warning
}

func (b *balance) decay(now time.Time) {
	if !b.at.IsZero() {
		b.value *= math.Exp(-now.Sub(b.at).Seconds() / 32)
	}
	b.at = now
}

func (b *balance) arrive(now time.Time) bool {
	b.decay(now)
	if b.value/32 >= 25_000 {
		return true
	}
	b.value += 20
	return false
}

func (b *balance) answer(now time.Time, _ int) bool {
	b.decay(now)
	if b.value/32 < 5_000 || b.warned == now.Unix() {
		return false
	}
	b.warned = now.Unix()
	b.value += 4000
	return true
}

func (b *balance) budget(float64) float64 { return 250 }

// modelled is a server that exists in memory only.
type modelled struct {
	name  string
	limit limiter
	size  func() int

	mu sync.Mutex
	counted
}

// counted counts a server's answers.
type counted struct{ good, refused, warned, bytes int }

func (m *modelled) count() counted {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.counted
}

func (m *modelled) Name() string  { return m.name }
func (m *modelled) InFlight() int { return 40 }
func (m *modelled) Info(context.Context) (response.Info, error) {
	return response.Info{}, errors.New("not asked here")
}

// ask takes as long as a server about 60 ms away.
func (m *modelled) ask(member *Member) {
	begin := time.Now()
	time.Sleep(20*time.Millisecond + rand.N(10*time.Millisecond))
	m.mu.Lock()
	refused := m.limit.arrive(time.Now())
	m.mu.Unlock()
	if refused {
		time.Sleep(20 * time.Millisecond)
		m.mu.Lock()
		m.refused++
		m.mu.Unlock()
		member.Done(80, time.Since(begin), &response.Error{Code: response.SlowDown, Err: errors.New("slowDown")})
		return
	}
	time.Sleep(10*time.Millisecond + rand.N(10*time.Millisecond))
	a := response.Answer{Bytes: m.size()}
	m.mu.Lock()
	a.Warned = m.limit.answer(time.Now(), a.Bytes)
	m.good++
	m.bytes += a.Bytes
	if a.Warned {
		m.warned++
	}
	m.mu.Unlock()
	time.Sleep(20 * time.Millisecond)
	member.Answered(&a, time.Since(begin))
}

// TestBudgets checks the goals: after the warm-up, at least 95% of the servers' limits is used, and
// less than 0.1% of the answers are slowDown; warnings are obeyed also where more requests would
// not be refused.
func TestBudgets(t *testing.T) {
	quicktest.Skip(t, "simulates hours")
	around := func(mean int) func() int {
		return func() int { return mean*3/4 + rand.IntN(mean/2) }
	}
	// The start of a window and the sizes of ledgers are random: several runs average that out.
	const warmUp, measured = 2 * time.Minute, 10 * time.Minute
	for _, tt := range []struct {
		name    string
		runs    int
		servers func() []*modelled
	}{
		{"clio, requests", 3, func() []*modelled {
			return []*modelled{{limit: &clio{phase: rand.N(time.Second)}, size: around(5_000)}}
		}},
		{"clio, bytes", 3, func() []*modelled {
			return []*modelled{{limit: &clio{phase: rand.N(time.Second)}, size: around(187_000)}}
		}},
		{"rippled", 1, func() []*modelled { return []*modelled{{limit: &balance{}, size: around(187_000)}} }},
		{"rippled and two of clio", 1, func() []*modelled {
			return []*modelled{
				{limit: &clio{phase: rand.N(time.Second)}, size: around(40_000)}, {limit: &balance{}, size: around(40_000)},
				{limit: &clio{phase: rand.N(time.Second)}, size: around(40_000)},
			}
		}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			var sum tally
			for range tt.runs {
				synctest.Test(t, func(t *testing.T) { sum.add(measure(t, tt.servers(), warmUp, measured)) })
			}
			used, slowed := sum.good/sum.allowed, sum.refused/(sum.good+sum.refused)
			t.Logf("%.1f%% of the budgets used, %.3f%% slowDown, %.1f%% warned", 100*used, 100*slowed, 100*sum.warned/sum.good)
			if !(used >= 0.95 && used <= 1.1) || slowed >= 0.001 {
				t.Error("want at least 95% used, hardly more than all, and less than 0.1% slowDown")
			}
		})
	}
}

// tally counts the answers of all servers together.
type tally struct{ good, refused, warned, allowed float64 }

func (a *tally) add(b tally) {
	a.good += b.good
	a.refused += b.refused
	a.warned += b.warned
	a.allowed += b.allowed
}

// measure counts answers after the warm-up.
func measure(t *testing.T, servers []*modelled, warmUp, measured time.Duration) (sum tally) {
	_, stop := drive(t, servers, 64)
	time.Sleep(warmUp)
	before := make([]counted, len(servers))
	for i, m := range servers {
		before[i] = m.count()
	}
	time.Sleep(measured)
	stop()
	for i, m := range servers {
		c, b := m.count(), before[i]
		good := float64(c.good - b.good)
		allowed := m.limit.budget(float64(c.bytes-b.bytes)/good) * measured.Seconds()
		t.Logf("%s: %.0f of %.0f, %d refused and %d warned, %d and %d in the warm-up", m.name, good, allowed,
			c.refused-b.refused, c.warned-b.warned, b.refused, b.warned)
		sum.add(tally{good, float64(c.refused - b.refused), float64(c.warned - b.warned), allowed})
	}
	return sum
}

// drive runs the given number of clients until stop is called.
func drive(t *testing.T, servers []*modelled, clients int) (p *Pool, stop func()) {
	t.Helper()
	sources, byName := make([]source, len(servers)), map[string]*modelled{}
	for i, m := range servers {
		m.name = fmt.Sprintf("server %d", i)
		sources[i], byName[m.name] = m, m
	}
	p = newPool(PoolConfig{}, sources)
	ctx, cancel := context.WithCancel(t.Context())
	var running sync.WaitGroup
	for range clients {
		running.Go(func() {
			for {
				member, err := p.Acquire(ctx, 0)
				if err != nil {
					return
				}
				byName[member.Name()].ask(member)
			}
		})
	}
	return p, func() {
		cancel()
		running.Wait()
		p.Close()
	}
}

// TestSharedBalance begins with a balance that an earlier run has left, or shares it with a client
// that sends all the time and ignores warnings, which keep the balance high, so that little is
// left. An earlier run does not block what is left of the budget for long.
func TestSharedBalance(t *testing.T) {
	quicktest.Skip(t, "simulates hours")
	for _, tt := range []struct {
		name   string
		before float64 // balance
		others int     // requests/s
		least  float64 // share of what is left
	}{
		{"used up by a run before", 4_990, 0, 0.8}, {"warned before", 6_000, 0, 0.8}, {"refused before", 24_000, 0, 0.8},
		{"shared with few", 0, 20, 0.25}, {"shared", 0, 100, 0.05}, {"shared and refused before", 15_000, 60, 0.05},
	} {
		t.Run(tt.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				b := &balance{value: 32 * tt.before, at: time.Now()}
				m := &modelled{limit: b, size: func() int { return 5_000 }}
				var other sync.WaitGroup
				ctx, cancel := context.WithCancel(t.Context())
				other.Go(func() {
					for tt.others > 0 && ctx.Err() == nil {
						time.Sleep(rand.N(2 * time.Second / time.Duration(tt.others)))
						m.mu.Lock()
						if now := time.Now(); !m.limit.arrive(now) {
							m.limit.answer(now, 0)
						}
						m.mu.Unlock()
					}
				})
				const measured = 4 * time.Minute
				sum := measure(t, []*modelled{m}, 2*time.Minute, measured)
				cancel()
				other.Wait()
				left := sum.allowed - float64(tt.others)*measured.Seconds()
				t.Logf("%.1f%% of what was left, %.0f warned", 100*sum.good/left, sum.warned)
				if sum.good < tt.least*left || sum.refused > 0 {
					t.Errorf("%+v", sum)
				}
			})
		})
	}
}
