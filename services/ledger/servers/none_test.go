package servers

import (
	"errors"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"dyno/services/ledger/servers/response"
)

// none is the error of an Acquire that must fail immediately.
func none(t *testing.T, p *Pool, index uint32) error {
	t.Helper()
	var err error
	if took := waits(func() { _, err = p.Acquire(t.Context(), index) }); !errors.Is(err, ErrNoServer) || took > 0 {
		t.Fatalf("got %v after %v", err, took)
	}
	return err
}

// A ledger that was not found once is requested again soon, without a Refresh.
func TestNotFoundPasses(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p, _ := pool(t, 1, 8)
		if err := p.Refresh(t.Context()); err != nil {
			t.Fatal(err)
		}
		fail(acquire(t, p, 7), response.NotFound)
		if err := none(t, p, 7); !errors.Is(err, ErrCoolingDown) || !strings.Contains(err.Error(), "a claims it, but answered not found") {
			t.Error(err)
		}
		time.Sleep(missingFor)
		answered(acquire(t, p, 7), time.Millisecond)
	})
}

// Expired entries make room for new ones.
func TestMissingIsBounded(t *testing.T) {
	s := newServer(&fake{}, 0)
	now := time.Now()
	for i := range uint32(2 * maxMissing) {
		s.deny(now, i+1)
	}
	later := now.Add(missingFor)
	s.deny(later, 9)
	if s.likelihood(9, later) != denies || len(s.missing) != 1 {
		t.Errorf("%d are remembered", len(s.missing))
	}
}

// A server may have a ledger above its last claimed top by now: it is asked, but only when no
// server claims the ledger. Below its top the claim holds.
func TestNewTip(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p, servers := pool(t, 2, 8)
		servers[0].complete, servers[1].complete = "1-400", "1-300,390-402"
		if err := p.Refresh(t.Context()); err != nil {
			t.Fatal(err)
		}
		if err := none(t, p, 403); errors.Is(err, ErrCoolingDown) || !strings.Contains(err.Error(), "a has only 1-400") {
			t.Error(err)
		}
		time.Sleep(fresh)
		for range 5 {
			m := acquire(t, p, 402)
			if m.Name() != "b" {
				t.Errorf("asked %s, which does not claim it", m.Name())
			}
			answered(m, time.Second) // so a is faster
		}
		for range 2 {
			fail(acquire(t, p, 403), response.NotFound)
		}
		if err := none(t, p, 403); errors.Is(err, ErrCoolingDown) || strings.Count(err.Error(), "answered not found") != 2 {
			t.Error(err)
		}
		if m := acquire(t, p, 350); m.Name() != "a" {
			t.Errorf("asked %s for what it lacks", m.Name())
		}
	})
}

// A waiter for a server with a long pause does not delay waiters for one that is ready earlier.
func TestSoonestWakes(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p, servers := pool(t, 2, 8)
		servers[1].complete = "1-100"
		if err := p.Refresh(t.Context()); err != nil {
			t.Fatal(err)
		}
		away := map[string]time.Duration{"a": time.Minute, "b": 2 * time.Second}
		for range away {
			m := acquire(t, p, 50)
			m.Done(0, 0, &response.Error{Code: response.SlowDown, RetryAfter: away[m.Name()], Err: errors.New("planned")})
		}
		if !p.RetryAfterPending() {
			t.Error("both said when to come back")
		}
		go p.Acquire(t.Context(), 900)
		synctest.Wait()
		if took := waits(func() { acquire(t, p, 50) }); took < time.Second || took > 3*time.Second {
			t.Errorf("asked after %v", took)
		}
		time.Sleep(time.Minute)
		if p.RetryAfterPending() {
			t.Error("all are back")
		}
	})
}

// Only a server's own Retry-After counts, not the client's redial wait nor a cooldown.
func TestRetryAfterPending(t *testing.T) {
	for _, tt := range []struct {
		trouble response.Error
		want    bool
	}{
		{response.Error{Code: response.SlowDown, RetryAfter: time.Minute}, true},
		{response.Error{Code: response.Busy, RetryAfter: time.Minute}, true},
		{response.Error{Code: response.SlowDown}, false},
		{response.Error{Code: response.Busy}, false},
		{response.Error{Code: response.Gone, RetryAfter: time.Minute}, false},
	} {
		synctest.Test(t, func(t *testing.T) {
			p, _ := pool(t, 1, 8)
			tt.trouble.Err = errors.New("planned")
			acquire(t, p, 7).Done(0, 0, &tt.trouble)
			if got := p.RetryAfterPending(); got != tt.want {
				t.Errorf("%v: got %v", &tt.trouble, got)
			}
		})
	}
}

// A server that times out is no longer the first choice.
func TestTimeoutsCost(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p, _ := pool(t, 2, 8)
		m := acquire(t, p, 7)
		m.Done(0, 2*time.Second, &response.Error{Code: response.Timeout, Err: errors.New("planned")})
		if r := p.Report()[0]; m.Name() != "a" || m.Latency() > 0 || r.Errors["timeout"] != 1 {
			t.Errorf("%s: %v, %+v", m.Name(), m.Latency(), r)
		}
		if m := acquire(t, p, 7); m.Name() != "b" {
			t.Errorf("asked %s", m.Name())
		} else if answered(m, time.Second); m.Latency() == 0 {
			t.Error("its latency is not counted")
		}
	})
}

// AcquireOf waits for the given server's budget only.
func TestAcquireOf(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p, servers := pool(t, 3, 8)
		servers[1].complete = "1-400"
		if err := p.Refresh(t.Context()); err != nil {
			t.Fatal(err)
		}
		of := func(i int, index uint32) (*Member, error) {
			return p.wait(t.Context(), &waiter{index: index, only: servers[i]})
		}
		for i, want := range []string{"a", "b", "c"} {
			if m, err := of(i, 7); err != nil || m.Name() != want {
				t.Fatalf("%v, %v", m, err)
			} else {
				answered(m, time.Millisecond)
			}
		}
		if _, err := of(1, 500); !errors.Is(err, ErrNoServer) || !strings.Contains(err.Error(), "b has only 1-400") || strings.Contains(err.Error(), "a ") {
			t.Errorf("b lacks the ledger: %v", err)
		}
		m, err := of(2, 7)
		if err != nil {
			t.Fatal(err)
		}
		m.Done(0, 0, &response.Error{Code: response.SlowDown, RetryAfter: 5 * time.Second, Err: errors.New("planned")})
		if took := waits(func() { m, err = of(2, 7) }); err != nil || m.Name() != "c" || took < 5*time.Second || took > 6*time.Second {
			t.Errorf("%v, %v after %v; c asked for a pause of 5 s", m, err, took)
		}
	})
}

// A blocked waiter for any server does not hide that a waiter for one server can never succeed.
func TestAcquireOfAmongOthers(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p, servers := pool(t, 2, 1)
		servers[1].complete = "1-400"
		if err := p.Refresh(t.Context()); err != nil {
			t.Fatal(err)
		}
		one, other := acquire(t, p, 7), acquire(t, p, 7) // all the connections
		go func() {
			if m, err := p.Acquire(t.Context(), 900); err == nil {
				answered(m, 0)
			}
		}()
		synctest.Wait()
		var err error
		if took := waits(func() { _, err = p.wait(t.Context(), &waiter{index: 500, only: servers[1]}) }); took > 0 || !errors.Is(err, ErrNoServer) {
			t.Errorf("%v after %v", err, took)
		}
		answered(one, time.Millisecond)
		answered(other, time.Millisecond)
	})
}

// The network is the one that servers say; servers of two networks say none.
func TestNetwork(t *testing.T) {
	p := newPool(PoolConfig{}, []source{gone("a"), gone("b"), gone("c")})
	defer p.Close()
	says := func(i int, id *uint32) {
		p.servers[i].learn(response.Info{Network: id}, time.Now())
	}
	if p.Network() != nil {
		t.Error("a network of which no server speaks")
	}
	says(1, new(uint32(1025)))
	says(2, new(uint32(1025)))
	says(2, nil) // Clio's answer, from behind the same address
	if id := p.Network(); id == nil || *id != 1025 {
		t.Errorf("%v", id)
	}
	says(0, new(uint32(0)))
	if id := p.Network(); id != nil {
		t.Errorf("two networks are %d", *id)
	}
}
