package tip

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"go.uber.org/goleak"
	"pgregory.net/rapid"

	"dyno/services/ledger/servers/response"
	"dyno/services/ledger/trust"
	"dyno/services/ledger/xrpl"
	"dyno/services/ledger/xrpl/history"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// hashOf is the hash of an honest chain's ledger.
func hashOf(index uint32) xrpl.Hash { h := xrpl.Header{Index: index}; return h.Hash() }

// fake is a server that sends what a test passes to it.
type fake struct {
	name string
	say  chan any // a response.Event, or an error that ends the subscription

	mu    sync.Mutex
	dials []time.Time
	asked []string // streams of the last subscription
}

func newFake(name string) *fake { return &fake{name: name, say: make(chan any)} }

func (s *fake) Name() string { return s.name }

func (s *fake) Subscribe(ctx context.Context, streams ...string) iter.Seq2[response.Event, error] {
	return func(yield func(response.Event, error) bool) {
		s.mu.Lock()
		s.dials, s.asked = append(s.dials, time.Now()), streams
		s.mu.Unlock()
		for {
			select {
			case <-ctx.Done():
				yield(response.Event{}, ctx.Err())
				return
			case said := <-s.say:
				if err, ok := said.(error); ok {
					yield(response.Event{}, err)
					return
				}
				if !yield(said.(response.Event), nil) {
					return
				}
			}
		}
	}
}

func (s *fake) dialled() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return len(s.dials)
}

// reports says that a ledger was validated.
func (s *fake) reports(index uint32) {
	s.say <- response.Event{Stream: response.Ledgers, Index: index, Hash: hashOf(index)}
}

// shelf is a store that Fetch fills; a test can make Fetch fail.
type shelf struct {
	mu      sync.Mutex
	t       testing.TB
	top     uint32
	fetched []history.Range
	fail    []error // results of the next calls
	hold    chan struct{}
}

func (s *shelf) Top() uint32 { s.mu.Lock(); defer s.mu.Unlock(); return s.top }

func (s *shelf) Fetch(ctx context.Context, r history.Range, top xrpl.Hash) error {
	if s.hold != nil {
		select {
		case <-s.hold:
		case <-ctx.Done():
			return ctx.Err()
		}
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if len(s.fail) > 0 {
		err := s.fail[0]
		s.fail = s.fail[1:]
		return err
	}
	if s.top > 0 && r.From != s.top+1 || r.Len() == 0 {
		s.t.Errorf("%s was requested above %d", r, s.top)
	}
	if top != hashOf(r.To) {
		s.t.Errorf("%s was requested with a wrong hash", r)
	}
	s.top, s.fetched = r.To, append(s.fetched, r)
	return nil
}

func (s *shelf) ranges() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return fmt.Sprint(s.fetched)
}

// run starts a follower in a bubble; stop ends it and returns its error.
func run(t *testing.T, s *shelf, c Config, servers ...*fake) (f *Follower, stop func() error) {
	t.Helper()
	for _, server := range servers {
		c.Servers = append(c.Servers, server)
	}
	s.t, c.Top, c.Fetch = t, s.Top, s.Fetch
	f, err := NewFollower(c)
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	ended := make(chan error, 1)
	go func() { ended <- f.Run(ctx) }()
	return f, func() error { cancel(); return <-ended }
}

func TestFillsTheGapThenFollows(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s, a := &shelf{top: 100}, newFake("a")
		f, stop := run(t, s, Config{}, a)
		for _, index := range []uint32{150, 151, 152, 152, 149, 155} {
			a.reports(index)
			synctest.Wait()
		}
		if got, want := s.ranges(), "[101-150 151 152 153-155]"; got != want {
			t.Errorf("fetched %s, want %s", got, want)
		}
		if st := f.Status(); st.Tip != (response.Tip{Index: 155, Hash: hashOf(155)}) || st.Settled != 155 || st.Fetches != 4 || st.Failures != 0 || !st.Servers[0].Connected || st.Servers[0].Newest != 155 {
			t.Errorf("%+v", st)
		}
		if err := stop(); err != nil {
			t.Error(err)
		}
	})
}

// Ledgers that close while a range is being fetched form one range afterwards.
func TestCatchesUpAfterSlowFetch(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s, a := &shelf{top: 10, hold: make(chan struct{})}, newFake("a")
		_, stop := run(t, s, Config{}, a)
		for index := uint32(11); index < 60; index++ {
			a.reports(index)
			synctest.Wait()
		}
		s.hold <- struct{}{}
		s.hold <- struct{}{}
		synctest.Wait()
		if got, want := s.ranges(), "[11 12-59]"; got != want {
			t.Errorf("fetched %s, want %s", got, want)
		}
		if err := stop(); err != nil {
			t.Error(err)
		}
	})
}

func TestBeginning(t *testing.T) {
	for first, want := range map[uint32]string{0: "[500 501]", 490: "[490-500 501]", 501: "[501]", 600: "[]"} {
		synctest.Test(t, func(t *testing.T) {
			s, a := &shelf{}, newFake("a")
			_, stop := run(t, s, Config{First: first}, a)
			a.reports(500)
			synctest.Wait()
			a.reports(501)
			synctest.Wait()
			if got := s.ranges(); got != want {
				t.Errorf("from %d: fetched %s, want %s", first, got, want)
			}
			stop()
		})
	}
}

// A server that breaks is dialled again with growing waits, while the others continue.
func TestDisconnects(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s, a, b := &shelf{top: 100}, newFake("a"), newFake("b")
		f, stop := run(t, s, Config{Stall: time.Hour}, a, b)
		a.reports(101)
		b.reports(101)
		synctest.Wait()
		broken := errors.New("broken")
		for range 12 {
			a.say <- broken // blocks until a is dialled again
		}
		b.reports(102)
		synctest.Wait()
		if f.Status().Servers[0].Connected {
			t.Error("a server counts as connected that has said nothing yet")
		}
		b.say <- broken
		b.reports(110)
		synctest.Wait()
		if got, want := s.ranges(), "[101 102 103-110]"; got != want {
			t.Errorf("fetched %s, want %s", got, want)
		}
		st := f.Status()
		if st.Servers[0].Disconnects != 12 || !errors.Is(st.Servers[0].Trouble, broken) || st.Servers[1].Disconnects != 1 || st.Servers[1].Trouble != nil {
			t.Errorf("%+v", st)
		}
		for i, at := range a.dials[1:] {
			gap, want := at.Sub(a.dials[i]), min(minBackoff<<i, maxBackoff)
			if gap > want || gap < want*3/4 {
				t.Errorf("dial %d came after %v, want about %v", i+2, gap, want)
			}
		}
		stop()
	})
}

// A server that is connected and silent is dialled again, and its earlier reports no longer count.
func TestStall(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s, a, b := &shelf{top: 100}, newFake("a"), newFake("b")
		f, stop := run(t, s, Config{Stall: time.Minute}, a, b)
		a.reports(101)
		b.reports(101)
		for index := uint32(102); index < 130; index++ { // only a continues: every 4 s
			time.Sleep(4 * time.Second)
			a.reports(index)
			synctest.Wait()
			if got := f.Tip().Index; got != 101 && f.Status().Servers[1].Disconnects == 0 {
				t.Errorf("ledger %d counts by one of two servers", got)
			}
		}
		if st := f.Status(); b.dialled() != 2 || !strings.Contains(st.Servers[1].Trouble.Error(), "no ledger for 1m") {
			t.Errorf("b was dialled %d times: %+v", b.dialled(), st)
		}
		if s.Top() != 129 {
			t.Errorf("at %d, want 129", s.Top())
		}
		stop()
	})
}

// A single server of three that reports a false tip, by index or by hash, is not believed.
func TestLiar(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s, a, b, liar := &shelf{top: 100}, newFake("a"), newFake("b"), newFake("liar")
		_, stop := run(t, s, Config{}, a, b, liar)
		a.reports(100)
		b.reports(100)
		for index := uint32(101); index < 120; index++ {
			liar.reports(index + 4_000_000_000)
			liar.say <- response.Event{Stream: response.Ledgers, Index: index, Hash: xrpl.Hash{1}}
			a.reports(index)
			synctest.Wait()
			if s.Top() >= index {
				t.Errorf("one of three was believed about %d", index)
			}
			b.reports(index)
			synctest.Wait()
			if s.Top() != index {
				t.Errorf("at %d after two of three reported %d", s.Top(), index)
			}
		}
		stop()
	})
}

func TestFetchFails(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		broken := errors.New("broken")
		s, a := &shelf{top: 100, fail: []error{broken, broken, broken}}, newFake("a")
		f, stop := run(t, s, Config{}, a)
		a.reports(101)
		synctest.Wait()
		if st := f.Status(); st.Failures != 1 || !errors.Is(st.Trouble, broken) || st.Lag() != 1 {
			t.Errorf("%+v", st)
		}
		a.reports(102)
		time.Sleep(7 * minBackoff)
		synctest.Wait()
		if got, want := s.ranges(), "[101-102]"; got != want {
			t.Errorf("fetched %s, want %s", got, want)
		}
		if st := f.Status(); st.Failures != 3 || st.Trouble != nil || st.Lag() != 0 {
			t.Errorf("%+v", st)
		}
		s.fail = []error{fmt.Errorf("%w: no disk", ErrStop)}
		a.reports(103)
		synctest.Wait()
		if err := stop(); !errors.Is(err, ErrStop) {
			t.Errorf("Run ended with %v, want ErrStop", err)
		}
	})
}

// A Fetch that fails has stored its range from the top down: the rest is requested again, and
// nothing else counts, although the newest stored ledger is the tip.
func TestFetchFailsHalfway(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		a, top, ranges := newFake("a"), uint32(100), []history.Range{}
		fetch := func(_ context.Context, r history.Range, _ xrpl.Hash) error {
			top, ranges = r.To, append(ranges, r)
			if len(ranges) <= 2 {
				return errors.New("the lower half could not be fetched")
			}
			return nil
		}
		f, err := NewFollower(Config{Servers: []Server{a}, Top: func() uint32 { return top }, Fetch: fetch})
		if err != nil {
			t.Fatal(err)
		}
		ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
		defer cancel()
		go func() {
			a.reports(150)
			synctest.Wait()
			a.reports(151)
			time.Sleep(10 * time.Second)
			a.reports(152)
		}()
		if err := f.Run(ctx); err != nil {
			t.Error(err)
		}
		if got, want := fmt.Sprint(ranges), "[101-150 101-151 101-151 152]"; got != want {
			t.Errorf("fetched %s, want %s", got, want)
		}
	})
}

// A Fetch that returns nil without storing is not called again without a pause.
func TestFetchThatStoresNothing(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		a, calls := newFake("a"), 0
		f, err := NewFollower(Config{Servers: []Server{a}, Top: func() uint32 { return 5 }, Fetch: func(context.Context, history.Range, xrpl.Hash) error { calls++; return nil }})
		if err != nil {
			t.Fatal(err)
		}
		ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
		defer cancel()
		go a.reports(6)
		if err := f.Run(ctx); err != nil {
			t.Error(err)
		}
		if calls < 2 || calls > 10 {
			t.Errorf("%d calls in a minute", calls)
		}
	})
}

// ballots is a quorum of made-up validations: text of an index, which counts from the second time
// on.
type ballots map[string]int

func (b ballots) Add(v []byte) (trust.Anchor, bool, error) {
	var index uint32
	if _, err := fmt.Sscan(string(v), &index); err != nil {
		return trust.Anchor{}, false, err
	}
	switch index {
	case 666:
		return trust.Anchor{}, false, trust.ErrConflict
	case 667:
		return trust.Anchor{}, false, fmt.Errorf("%w: fetch the current one", trust.ErrListExpired)
	}
	b[string(v)]++
	return trust.Anchor{Index: index, Hash: hashOf(index)}, b[string(v)] >= 2, nil
}

func vote(text string) response.Event {
	return response.Event{Stream: response.Validations, Validation: []byte(text)}
}

// With a quorum no ledger counts before it, whatever servers report, and a later one includes those
// before it.
func TestQuorum(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s, a, b := &shelf{top: 100}, newFake("a"), newFake("b")
		f, stop := run(t, s, Config{Quorum: ballots{}}, a, b)
		a.reports(101)
		b.reports(101)
		a.say <- vote("101")
		a.say <- response.Event{Stream: response.Validations} // without its bytes
		synctest.Wait()
		if got := s.ranges(); got != "[]" {
			t.Errorf("fetched %s without a quorum", got)
		}
		if st := f.Status(); !errors.Is(st.Servers[0].Trouble, errNoBytes) {
			t.Errorf("%+v", st)
		}
		a.say <- vote("103")
		b.say <- vote("103")
		synctest.Wait()
		b.say <- vote("101")
		synctest.Wait()
		if got := s.ranges(); got != "[101-103]" {
			t.Errorf("fetched %s, want [101-103]", got)
		}
		b.say <- vote("nonsense")
		synctest.Wait()
		if st := f.Status(); st.Servers[1].Connected || len(b.asked) != 2 {
			t.Errorf("%+v", st)
		}
		if err := stop(); err != nil {
			t.Error(err)
		}
	})
}

// When no quorum is possible any more, Run ends instead of dialling again.
func TestNoQuorumAnyMoreEndsIt(t *testing.T) {
	for text, want := range map[string]error{"666": trust.ErrConflict, "667": trust.ErrListExpired} {
		synctest.Test(t, func(t *testing.T) {
			s, a, b := &shelf{t: t, top: 100}, newFake("a"), newFake("b")
			f, err := NewFollower(Config{Servers: []Server{a, b}, Quorum: ballots{}, Top: s.Top, Fetch: s.Fetch})
			if err != nil {
				t.Fatal(err)
			}
			go func() { a.say <- vote(text) }()
			if err := f.Run(t.Context()); !errors.Is(err, want) {
				t.Errorf("Run ends with %v, want %v", err, want)
			}
		})
	}
}

func TestNew(t *testing.T) {
	if _, err := NewFollower(Config{}); err == nil {
		t.Error("no servers are accepted")
	}
	if _, err := NewFollower(Config{Servers: make([]Server, MaxServers+1)}); err == nil {
		t.Error("too many servers are accepted")
	}
}

// Whatever servers leave out, and however often they break and fetching fails, every ledger up to
// the last is fetched once, in order (the shelf checks that).
func TestNeverSkipsOne(t *testing.T) {
	rapid.Check(t, func(r *rapid.T) {
		steps := rapid.SliceOfN(rapid.IntRange(0, 11), 1, 60).Draw(r, "steps")
		synctest.Test(t, func(t *testing.T) {
			s := &shelf{top: 100}
			servers := []*fake{newFake("a"), newFake("b"), newFake("c")}
			_, stop := run(t, s, Config{}, servers...)
			tip := uint32(100)
			for _, step := range steps {
				server := servers[step%3]
				switch step / 3 {
				case 0, 1:
					tip++
					server.reports(tip)
				case 2:
					server.say <- errors.New("broken")
				case 3:
					s.mu.Lock()
					s.fail = append(s.fail, errors.New("broken"))
					s.mu.Unlock()
				}
			}
			for range len(steps) { // as often as fetching may fail
				tip++
				for _, server := range servers {
					server.reports(tip)
				}
				time.Sleep(time.Hour) // in the bubble: every wait ends, and silent servers are dialled again
				synctest.Wait()
			}
			if s.Top() < tip {
				t.Errorf("at %d, want %d", s.Top(), tip)
			}
			if err := stop(); err != nil {
				t.Error(err)
			}
		})
	})
}
