package servers

import (
	"context"
	"errors"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"go.uber.org/goleak"
	"pgregory.net/rapid"

	"dyno/services/ledger/servers/response"
	"dyno/services/ledger/xrpl/history"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// fake is a server with configured answers.
type fake struct {
	name     string
	inFlight int
	complete string
	err      error
}

func (s *fake) Name() string  { return s.name }
func (s *fake) InFlight() int { return s.inFlight }
func (s *fake) Info(context.Context) (response.Info, error) {
	set, _ := history.ParseSet(s.complete)
	return response.Info{Complete: set, Synced: true, Bytes: 500}, s.err
}

// pool has servers a, b, c..., each with the given limit of concurrent requests.
func pool(t *testing.T, n, inFlight int) (*Pool, []*fake) {
	t.Helper()
	var servers []*fake
	var sources []source
	for i := range n {
		s := &fake{name: string(rune('a' + i)), inFlight: inFlight, complete: "1-1000"}
		servers, sources = append(servers, s), append(sources, s)
	}
	p := newPool(PoolConfig{}, sources)
	t.Cleanup(p.Close)
	return p, servers
}

func acquire(t *testing.T, p *Pool, index uint32, not ...*Member) *Member {
	t.Helper()
	m, err := p.Acquire(t.Context(), index, not...)
	if err != nil {
		t.Fatal(err)
	}
	return m
}

func answered(m *Member, took time.Duration) {
	m.Answered(&response.Answer{Bytes: 1000}, took)
}

func fail(m *Member, k response.Code) {
	m.Done(0, time.Second, &response.Error{Code: k, Err: errors.New("as fake")})
}

// waits returns how long a call takes.
func waits(f func()) time.Duration {
	begin := time.Now()
	f()
	return time.Since(begin)
}

// The best server is chosen first, and another one while that has no budget.
func TestBestFirst(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p, _ := pool(t, 2, 8)
		for range 40 { // a is slow, b fast
			x, y := acquire(t, p, 7), acquire(t, p, 7)
			for _, m := range []*Member{x, y} {
				if m.Name() == "a" {
					answered(m, 5*time.Second)
				} else {
					answered(m, 10*time.Millisecond)
				}
			}
			time.Sleep(time.Second)
		}
		var names string
		took := waits(func() {
			for !strings.Contains(names, "a") {
				names += acquire(t, p, 7).Name()
			}
		})
		if names[0] != 'b' || took > 0 {
			t.Errorf("asked %s, after %v", names, took)
		}
	})
}

// A server is chosen only for ledgers it has, and not when it is excluded; if no server is left,
// the error says why.
func TestNone(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p, servers := pool(t, 2, 8)
		servers[1].complete = "500-600"
		if err := p.Refresh(t.Context()); err != nil {
			t.Fatal(err)
		}
		for i, want := range []string{"1-1000", "500-600"} {
			if has := p.Report()[i].Complete.String(); has != want {
				t.Errorf("server %d has %s", i, has)
			}
		}
		a := acquire(t, p, 7)
		if a.Name() != "a" {
			t.Errorf("asked %s for a ledger it lacks", a.Name())
		}
		_, err := p.Acquire(t.Context(), 7, a)
		if !errors.Is(err, ErrNoServer) || !strings.Contains(err.Error(), "a is excluded") || !strings.Contains(err.Error(), "b has only 500-600") {
			t.Errorf("got %v", err)
		}
		if m := acquire(t, p, 550, a); m.Name() != "b" {
			t.Errorf("asked %s, which is excluded", m.Name())
		}
		// A ledger that a server claims but lacks is not requested until it claims it again.
		fail(a, response.NotFound)
		if _, err := p.Acquire(t.Context(), 7); !errors.Is(err, ErrNoServer) {
			t.Errorf("got %v", err)
		}
		if err := p.Refresh(t.Context()); err != nil {
			t.Fatal(err)
		}
		acquire(t, p, 7)
	})
}

// Refresh fails only if no server answers; a server without an answer is asked again.
func TestRefresh(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p, servers := pool(t, 2, 8)
		servers[0].err = &response.Error{Code: response.Gone, Err: errors.New("as fake")}
		if err := p.Refresh(t.Context()); err != nil {
			t.Error(err)
		}
		servers[1].err = servers[0].err
		if err := p.Refresh(t.Context()); err == nil {
			t.Error("no server answered, and Refresh returned no error")
		}
		servers[1].err, servers[1].complete = nil, "1-5"
		ctx, cancel := context.WithTimeout(t.Context(), 100*time.Second)
		defer cancel()
		err := p.Run(ctx)
		if has := p.Report()[1].Complete.String(); !errors.Is(err, context.DeadlineExceeded) || has != "1-5" {
			t.Errorf("%v, %s", err, has)
		}
	})
}

// No request is sent to a server before its Retry-After has passed.
func TestRetryAfter(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p, _ := pool(t, 1, 8)
		acquire(t, p, 7).Done(0, time.Second, &response.Error{Code: response.SlowDown, RetryAfter: 17 * time.Second, Err: errors.New("as fake")})
		if took := waits(func() { answered(acquire(t, p, 7), time.Millisecond) }); took < 17*time.Second || took > 18*time.Second {
			t.Errorf("asked again after %v", took)
		}
		if r := p.Report()[0]; r.Slowed != 1 || r.Good != 1 || r.Requests != 2 {
			t.Errorf("got %+v", r)
		}
	})
}

// A failing server delays no caller; after a while it is probed with one request, and used normally
// if that succeeds.
func TestCoolsDown(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p, _ := pool(t, 2, 1000)
		var of [2][]*Member
		for range 6 {
			m := acquire(t, p, 7)
			of[m.Name()[0]-'a'] = append(of[m.Name()[0]-'a'], m)
		}
		for _, m := range of[0] {
			fail(m, response.Cut)
		}
		for _, m := range of[1] {
			answered(m, 50*time.Millisecond)
		}
		if len(of[0]) < failures {
			t.Fatalf("a was asked %d times", len(of[0]))
		}
		for range 5 {
			if m := acquire(t, p, 7); m.Name() != "b" {
				t.Error("asked one that cools down")
			}
		}
		// With all others excluded, Acquire waits for the end of the cooldown.
		b := acquire(t, p, 7)
		var trial *Member
		if took := waits(func() { trial = acquire(t, p, 7, b) }); took < coolFirst/2 || trial.Name() != "a" {
			t.Errorf("tried %s after %v", trial.Name(), took)
		}
		ctx, cancel := context.WithTimeout(t.Context(), time.Hour)
		defer cancel()
		if m, err := p.Acquire(ctx, 7, b); !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("%v, %v: asked while it is being tried", m, err)
		}
		answered(trial, time.Millisecond)
		if took := waits(func() { acquire(t, p, 7, b); acquire(t, p, 7, b) }); took > time.Second {
			t.Errorf("asked again after %v", took)
		}
	})
}

// A connection that breaks fails all requests on it. That is one failure of the server's: its first
// cooldown is as short as after few requests, and only that of a failed trial is longer.
func TestCoolsDownOnceForABrokenConnection(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p, _ := pool(t, 1, 1000)
		var all []*Member
		for range 20 {
			all = append(all, acquire(t, p, 7))
		}
		for _, m := range all {
			fail(m, response.Cut)
		}
		for _, want := range []time.Duration{coolFirst, 2 * coolFirst} {
			var trial *Member
			if took := waits(func() { trial = acquire(t, p, 7) }); took != want {
				t.Errorf("cools down for %v, want %v", took, want)
			}
			fail(trial, response.Cut)
		}
	})
}

// A server that is sometimes wrong stays in use, however late its faults are detected; one that is
// always wrong does not.
func TestLiesNowAndThen(t *testing.T) {
	for _, late := range []bool{false, true} {
		synctest.Test(t, func(t *testing.T) {
			p, _ := pool(t, 1, 1000)
			const answers = 1000
			var all []*Member
			for range answers {
				m := acquire(t, p, 7)
				answered(m, time.Millisecond)
				all = append(all, m)
			}
			took := waits(func() {
				for i, m := range all {
					lie := i*7%10 < 3 // 30%
					switch {
					case lie && late:
						m.Proved()
						m.RecordFault("not the parent")
					case lie:
						m.RecordFault("hash")
					default:
						m.Proved()
						m.Linked()
					}
				}
				acquire(t, p, 7).Done(0, 0, context.Canceled)
			})
			if took > time.Second/10 {
				t.Errorf("late: %v: cooldown of %v", late, took)
			}
			if n := p.Report()[0].Faults; n["hash"]+n["not the parent"] != answers*3/10 {
				t.Errorf("faults: %v", n)
			}
			for range 20 {
				m := acquire(t, p, 7)
				if late {
					m.Proved()
				}
				m.RecordFault("hash")
				m.Done(0, 0, context.Canceled)
			}
			if took := waits(func() { acquire(t, p, 7) }); took < 5*time.Second {
				t.Errorf("late: %v: cooldown of %v after wrong answers only", late, took)
			}
		})
	}
}

// Faults are counted by reason, lower the score, and lengthen the cooldown.
func TestRecordFault(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p, _ := pool(t, 1, 8)
		before := p.Report()[0].Score
		last := time.Duration(0)
		row := acquire(t, p, 7)
		for range faultsInARow - 1 {
			row.RecordFault("another hash")
		}
		row.Done(0, 0, context.Canceled)
		for n := 1; n < 4; n++ {
			m := acquire(t, p, 7)
			for range n {
				m.RecordFault("another hash")
			}
			m.Done(0, 0, context.Canceled)
			took := waits(func() { acquire(t, p, 7).Done(0, 0, context.Canceled) })
			if took <= last || took < coolFaults {
				t.Errorf("%d faults: cooldown of %v, %v before", n, took, last)
			}
			last = took
		}
		r := p.Report()[0]
		if r.Faults["another hash"] != 6+faultsInARow-1 || r.Score > before/32 {
			t.Errorf("got %+v, and score %v before", r, before)
		}
		for i := range 100 {
			m := acquire(t, p, 7)
			m.RecordFault(strings.Repeat("x", i))
			answered(m, 0)
		}
		if n := len(p.Report()[0].Faults); n > maxReasons+1 {
			t.Errorf("%d reasons", n)
		}
	})
}

// A cancelled request does not count against the server.
func TestCancelled(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p, _ := pool(t, 1, 2)
		for range 10 {
			m := acquire(t, p, 7)
			m.Done(0, time.Second, context.Canceled)
			m.Done(0, time.Second, &response.Error{Code: response.Gone}) // a second Done has no effect
		}
		if r := p.Report()[0]; r.Score != 1 || len(r.Errors) > 0 || r.Requests != 10 || r.InFlight != 0 {
			t.Errorf("got %+v", r)
		}
	})
}

// Until a server refuses a request, waits are caused by the rate's ramp-up; then by the server's
// budget.
func TestRampUp(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p, _ := pool(t, 1, 100)
		asks := func() {
			for range 8 {
				answered(acquire(t, p, 7), 0)
			}
		}
		asks()
		risen := p.WaitTimes()
		if risen.RampUp == 0 || risen.Requests+risen.Bytes > 0 {
			t.Errorf("got %+v", risen)
		}
		fail(acquire(t, p, 7), response.SlowDown)
		time.Sleep(pauseSlow)
		asks()
		if b := p.WaitTimes(); b.Requests+b.Bytes == 0 || b.RampUp-risen.RampUp > b.Requests+b.Bytes {
			t.Errorf("got %+v after %+v", b, risen)
		}
	})
}

// Done wakes a waiter, and the time it waited is counted.
func TestConnections(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p, _ := pool(t, 1, 2)
		x, y := acquire(t, p, 7), acquire(t, p, 7)
		time.AfterFunc(5*time.Second, func() { answered(x, time.Second) })
		if took := waits(func() { acquire(t, p, 7) }); took != 5*time.Second {
			t.Errorf("waited for %v", took)
		}
		if b := p.WaitTimes(); b.Connections < 4*time.Second || b.Connections > 5*time.Second || b.Requests+b.Bytes+b.Cooldown > time.Second {
			t.Errorf("got %+v", b)
		}
		answered(y, time.Second)
	})
}

// TestInvariants sends, answers, fails, records faults and cancels at random: no server exceeds its
// limit of concurrent requests, no caller gets an excluded server or one that lacks the ledger, and
// in the end every waiter gets one.
func TestInvariants(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		const inFlight = 3
		seed := rapid.SliceOfN(rapid.IntRange(0, 1<<20), 10, 120).Draw(rt, "steps")
		var problem string
		synctest.Test(t, func(t *testing.T) {
			p, servers := pool(t, 3, inFlight)
			servers[2].complete = "1-10,900-1000"
			if err := p.Refresh(t.Context()); err != nil {
				problem = err.Error()
				return
			}
			ctx, cancel := context.WithCancel(context.Background())
			type got struct {
				m     *Member
				err   error
				index uint32
			}
			results := make(chan got, len(seed))
			var held []*Member
			waiting := 0
			collect := func() {
				synctest.Wait()
				for len(results) > 0 {
					g := <-results
					waiting--
					switch {
					case g.err != nil && !errors.Is(g.err, context.DeadlineExceeded):
						problem = g.err.Error()
					case g.err == nil && g.index > 10 && g.m.Name() == "c":
						problem = "asked one that lacks the ledger"
					case g.err == nil:
						held = append(held, g.m)
					}
				}
				for _, s := range p.Report() {
					if s.InFlight > inFlight || s.InFlight < 0 {
						problem = "too many are under way"
					}
				}
			}
			for _, n := range seed {
				if n%3 == 0 || len(held) == 0 {
					index := uint32(n/3%20 + 1)
					var until context.Context = ctx
					if n%9 == 0 {
						late, stop := context.WithTimeout(ctx, time.Duration(n%1000)*time.Millisecond)
						defer stop()
						until = late
					}
					waiting++
					go func() {
						m, err := p.Acquire(until, index)
						results <- got{m, err, index}
					}()
				} else {
					m := held[0]
					held = held[1:]
					switch n % 7 {
					case 0:
						fail(m, response.Code(n/7%11+1))
					case 1:
						m.RecordFault("lied")
						answered(m, time.Millisecond)
					case 2:
						m.Done(0, 0, context.Canceled)
					default:
						answered(m, time.Duration(n)*time.Microsecond)
					}
				}
				time.Sleep(time.Duration(n%50) * time.Millisecond)
				collect()
			}
			for range 100 {
				for _, m := range held {
					answered(m, time.Millisecond)
				}
				held = nil
				if collect(); waiting == 0 && len(held) == 0 {
					break
				}
				time.Sleep(time.Minute)
			}
			if waiting > 0 && problem == "" {
				// A server may lack a ledger that it claimed: Acquire fails then.
				problem = "some wait for ever"
			}
			cancel()
			synctest.Wait()
		})
		if problem != "" && !strings.Contains(problem, ErrNoServer.Error()) {
			rt.Fatal(problem)
		}
	})
}
