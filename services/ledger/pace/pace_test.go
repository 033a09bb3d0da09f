package pace

import (
	"context"
	"errors"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"go.uber.org/goleak"
	"pgregory.net/rapid"

	"dyno/services/ledger/history"
	"dyno/services/ledger/rippled"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// told is a server that says what it is told to.
type told struct {
	name     string
	inFlight int
	complete string
	err      error
}

func (s *told) Name() string  { return s.name }
func (s *told) InFlight() int { return s.inFlight }
func (s *told) Info(context.Context) (rippled.Info, error) {
	set, _ := history.ParseSet(s.complete)
	return rippled.Info{Complete: set, Synced: true, Bytes: 500}, s.err
}

// pool is one of servers a, b, c..., with room for so many requests at each.
func pool(t *testing.T, n, inFlight int) (*Pool, []*told) {
	t.Helper()
	var servers []*told
	var sources []source
	for i := range n {
		s := &told{name: string(rune('a' + i)), inFlight: inFlight, complete: "1-1000"}
		servers, sources = append(servers, s), append(sources, s)
	}
	p := newPool(Config{}, sources)
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
	m.Answered(&rippled.Answer{Bytes: 1000}, took)
}

func fail(m *Member, k rippled.Kind) {
	m.Done(0, time.Second, &rippled.Trouble{Kind: k, Err: errors.New("as told")})
}

// waits says how long a call takes.
func waits(f func()) time.Duration {
	begin := time.Now()
	f()
	return time.Since(begin)
}

// The best server is asked first, and another one when that has no budget now.
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

// A server is asked only for what it has, and not when it is not wanted; if that leaves none, it says why.
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
			t.Errorf("asked %s for what it has not", a.Name())
		}
		_, err := p.Acquire(t.Context(), 7, a)
		if !errors.Is(err, ErrNone) || !strings.Contains(err.Error(), "a is not wanted") || !strings.Contains(err.Error(), "b has only 500-600") {
			t.Errorf("got %v", err)
		}
		if m := acquire(t, p, 550, a); m.Name() != "b" {
			t.Errorf("asked %s, which is not wanted", m.Name())
		}
		// What a server does not have although it says so is not asked of it until it says so again.
		fail(a, rippled.NotFound)
		if _, err := p.Acquire(t.Context(), 7); !errors.Is(err, ErrNone) {
			t.Errorf("got %v", err)
		}
		if err := p.Refresh(t.Context()); err != nil {
			t.Fatal(err)
		}
		acquire(t, p, 7)
	})
}

// Who has no answer to what a server has is asked again, and the pool fails only if nobody answers.
func TestRefresh(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p, servers := pool(t, 2, 8)
		servers[0].err = &rippled.Trouble{Kind: rippled.Gone, Err: errors.New("as told")}
		if err := p.Refresh(t.Context()); err != nil {
			t.Error(err)
		}
		servers[1].err = servers[0].err
		if err := p.Refresh(t.Context()); err == nil {
			t.Error("nobody answered, and that was no error")
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

// What a server asks for is obeyed: nobody asks it earlier.
func TestRetryAfter(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p, _ := pool(t, 1, 8)
		acquire(t, p, 7).Done(0, time.Second, &rippled.Trouble{Kind: rippled.SlowDown, RetryAfter: 17 * time.Second, Err: errors.New("as told")})
		if took := waits(func() { answered(acquire(t, p, 7), time.Millisecond) }); took < 17*time.Second || took > 18*time.Second {
			t.Errorf("asked again after %v", took)
		}
		if r := p.Report()[0]; r.Slowed != 1 || r.Good != 1 || r.Requests != 2 {
			t.Errorf("got %+v", r)
		}
	})
}

// One server's trouble stalls nobody; after a while it is tried with one request, and trusted again if that goes well.
func TestCoolsDown(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p, _ := pool(t, 2, 1000)
		var of [2][]*Member
		for range 6 {
			m := acquire(t, p, 7)
			of[m.Name()[0]-'a'] = append(of[m.Name()[0]-'a'], m)
		}
		for _, m := range of[0] {
			fail(m, rippled.Cut)
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
		// While it cools down, and nobody else is wanted, one waits for it.
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

// A server that lies now and then stays in use, however much later than its answers the blame comes; one that does so all
// the time does not.
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
						m.Blame("not the parent")
					case lie:
						m.Blame("hash")
					default:
						m.Proved()
						m.Linked()
					}
				}
				acquire(t, p, 7).Done(0, 0, context.Canceled)
			})
			if took > time.Second/10 {
				t.Errorf("late: %v: away for %v", late, took)
			}
			if n := p.Report()[0].Blamed; n["hash"]+n["not the parent"] != answers*3/10 {
				t.Errorf("blamed: %v", n)
			}
			for range 20 {
				m := acquire(t, p, 7)
				if late {
					m.Proved()
				}
				m.Blame("hash")
				m.Done(0, 0, context.Canceled)
			}
			if took := waits(func() { acquire(t, p, 7) }); took < 5*time.Second {
				t.Errorf("late: %v: away for %v after nothing but lies", late, took)
			}
		})
	}
}

// Blame counts by reason, costs trust, and keeps a server away for longer when there is more of it.
func TestBlame(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p, _ := pool(t, 1, 8)
		before := p.Report()[0].Score
		last := time.Duration(0)
		row := acquire(t, p, 7)
		for range liesInARow - 1 {
			row.Blame("another hash")
		}
		row.Done(0, 0, context.Canceled)
		for n := 1; n < 4; n++ {
			m := acquire(t, p, 7)
			for range n {
				m.Blame("another hash")
			}
			m.Done(0, 0, context.Canceled)
			took := waits(func() { acquire(t, p, 7).Done(0, 0, context.Canceled) })
			if took <= last || took < coolBlamed {
				t.Errorf("blamed %d times: away for %v, %v before", n, took, last)
			}
			last = took
		}
		r := p.Report()[0]
		if r.Blamed["another hash"] != 6+liesInARow-1 || r.Score > before/32 {
			t.Errorf("got %+v, and score %v before", r, before)
		}
		for i := range 100 {
			m := acquire(t, p, 7)
			m.Blame(strings.Repeat("x", i))
			answered(m, 0)
		}
		if n := len(p.Report()[0].Blamed); n > maxReasons+1 {
			t.Errorf("%d reasons", n)
		}
	})
}

// What is cancelled says nothing of the server.
func TestCancelled(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p, _ := pool(t, 1, 2)
		for range 10 {
			m := acquire(t, p, 7)
			m.Done(0, time.Second, context.Canceled)
			m.Done(0, time.Second, &rippled.Trouble{Kind: rippled.Gone}) // nor does a second word
		}
		if r := p.Report()[0]; r.Score != 1 || len(r.Troubles) > 0 || r.Requests != 10 || r.InFlight != 0 {
			t.Errorf("got %+v", r)
		}
	})
}

// Until a server says that it is too much, it is the rate's rise that is waited for; then it is the server's budget.
func TestRising(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p, _ := pool(t, 1, 100)
		asks := func() {
			for range 8 {
				answered(acquire(t, p, 7), 0)
			}
		}
		asks()
		risen := p.Binding()
		if risen.Rising == 0 || risen.Requests+risen.Bytes > 0 {
			t.Errorf("got %+v", risen)
		}
		fail(acquire(t, p, 7), rippled.SlowDown)
		time.Sleep(pauseSlow)
		asks()
		if b := p.Binding(); b.Requests+b.Bytes == 0 || b.Rising-risen.Rising > b.Requests+b.Bytes {
			t.Errorf("got %+v after %+v", b, risen)
		}
	})
}

// Who waits is told by a Done, and what held it is counted.
func TestConnections(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p, _ := pool(t, 1, 2)
		x, y := acquire(t, p, 7), acquire(t, p, 7)
		time.AfterFunc(5*time.Second, func() { answered(x, time.Second) })
		if took := waits(func() { acquire(t, p, 7) }); took != 5*time.Second {
			t.Errorf("waited for %v", took)
		}
		if b := p.Binding(); b.Connections < 4*time.Second || b.Connections > 5*time.Second || b.Requests+b.Bytes+b.Trouble > time.Second {
			t.Errorf("got %+v", b)
		}
		answered(y, time.Second)
	})
}

// TestInvariants asks, answers, fails, blames and gives up at random: no server has more under way than it may,
// nobody gets one that is not wanted or lacks the ledger, and in the end all who wait get one.
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
						fail(m, rippled.Kind(n/7%11+1))
					case 1:
						m.Blame("lied")
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
				// A server may lack a ledger that it said it had: then there is an error, and nobody waits.
				problem = "some wait for ever"
			}
			cancel()
			synctest.Wait()
		})
		if problem != "" && !strings.Contains(problem, ErrNone.Error()) {
			rt.Fatal(problem)
		}
	})
}
