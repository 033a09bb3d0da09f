package backfill

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"sync"
	"sync/atomic"
	"testing"

	"dyno/services/ledger/sim"
	"dyno/services/ledger/sim/fault"
	"dyno/services/ledger/store"
	"dyno/services/ledger/xrpl"

	"go.uber.org/goleak"
)

// later is a Sink that releases ledgers on its own goroutine, as a store does.
type later struct {
	keeper
	each func(puts int) // called with every Put, with the number of earlier ones
	puts int
	work sync.WaitGroup
}

func (l *later) Put(ctx context.Context, x *xrpl.Ledger, release func()) error {
	l.each(l.puts)
	l.puts++
	return l.keeper.Put(ctx, x, func() { l.work.Go(release) })
}

// Whenever the run is cancelled, the Sink has a correct top part of the range, and no goroutine
// continues.
func TestCancelled(t *testing.T) {
	w := newWorld(t)
	p := pool(t, w.server(t, sim.Config{Faults: fault.Rates{fault.Flip: 0.1, fault.Cut: 0.1}}), w.server(t, sim.Config{}))
	random := rand.New(rand.NewPCG(1, 2))
	before := goleak.IgnoreCurrent() // servers, and connections to them, stay for the next run
	for range 25 {
		ctx, cancel := context.WithCancel(t.Context())
		at, aside := random.IntN(ledgers), random.IntN(2) == 0
		var cancelling sync.WaitGroup
		l := &later{keeper: keeper{hold: random.IntN(5)}}
		l.each = func(puts int) {
			switch {
			case puts != at:
			case aside:
				cancelling.Go(cancel) // at some moment from now on
			default:
				cancel()
			}
		}
		c := w.config(p, l)
		c.Window, c.Fetches, c.Verifiers, c.Shards.Size = 1+random.IntN(12), 1+random.IntN(6), 1+random.IntN(3), 1+random.IntN(4)
		err := Run(ctx, c, all)
		if len(l.order) < ledgers && !errors.Is(err, context.Canceled) || len(l.order) == ledgers && err != nil && !errors.Is(err, context.Canceled) {
			t.Errorf("cancelled at %d: %v", at, err)
		}
		got := all
		got.From = uint32(last - len(l.order) + 1)
		l.holds(t, w, got)
		l.work.Wait()
		cancelling.Wait()
		cancel()
	}
	// Connections come and go with requests that are cancelled.
	goleak.VerifyNone(t, before, goleak.IgnoreAnyFunction("net/http.(*persistConn).readLoop"), goleak.IgnoreAnyFunction("net/http.(*persistConn).writeLoop"),
		goleak.IgnoreAnyFunction("net/http.(*conn).serve"))
}

func TestCancelledBefore(t *testing.T) {
	w := newWorld(t)
	var k keeper
	c := w.config(pool(t, w.server(t, sim.Config{})), &k)
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if err := Run(ctx, c, all); !errors.Is(err, context.Canceled) {
		t.Error(err)
	}
	k.holds(t, w)
}

// Neither a silent server nor a Sink that blocks prevents cancellation.
func TestCancelledWhileAllWaits(t *testing.T) {
	w := newWorld(t)
	s := w.server(t, sim.Config{Faults: fault.Rates{fault.Stall: 1}})
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	c := w.config(pool(t, s), &keeper{})
	ended := make(chan error, 1)
	go func() { ended <- Run(ctx, c, all) }()
	until(t, func() bool { return s.Injected().Faults[fault.Stall].Sent > 0 })
	cancel()
	if err := <-ended; !errors.Is(err, context.Canceled) {
		t.Errorf("the server is silent: %v", err)
	}

	s = w.server(t, sim.Config{})
	ctx, cancel = context.WithCancel(t.Context())
	defer cancel()
	full := &full{full: make(chan struct{})}
	c = w.config(pool(t, s), full)
	go func() { ended <- Run(ctx, c, all) }()
	<-full.full
	cancel()
	if err := <-ended; !errors.Is(err, context.Canceled) {
		t.Errorf("the sink is full: %v", err)
	}
}

// full is a Sink that blocks in Put.
type full struct{ full chan struct{} }

func (f *full) Put(ctx context.Context, _ *xrpl.Ledger, release func()) error {
	close(f.full)
	<-ctx.Done()
	release()
	return ctx.Err()
}

// until waits for a condition; the test's time limit bounds it.
func until(t *testing.T, condition func() bool) {
	t.Helper()
	for !condition() {
		if t.Context().Err() != nil {
			t.Fatal(t.Context().Err())
		}
		pause()
	}
}

// counted is a store's writer that counts how often each ledger was released.
type counted struct {
	*store.Writer
	mu       sync.Mutex
	released []*atomic.Int32
	each     func(puts int)
}

func (c *counted) Put(ctx context.Context, l *xrpl.Ledger, release func()) error {
	n := new(atomic.Int32)
	c.mu.Lock()
	puts := len(c.released)
	c.released = append(c.released, n)
	c.mu.Unlock()
	if c.each != nil {
		c.each(puts)
	}
	return c.Writer.Put(ctx, l, func() {
		if n.Add(1) == 1 { // a second release would reuse memory that is in use
			release()
		}
	})
}

// The store releases each ledger once, whether the sync succeeds, is cancelled, or the store fails.
func TestStoreReleasesOnce(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	p := pool(t, w.server(t, sim.Config{}))
	for _, batch := range []int{1, 4} {
		for _, how := range []string{"to the end", "cancelled", "store closed"} {
			t.Run(fmt.Sprint(batch, " ", how), func(t *testing.T) {
				s, err := store.Open(t.TempDir(), store.Options{})
				if err != nil {
					t.Fatal(err)
				}
				writer := store.NewWriter(s, store.WriterOptions{Batch: batch})
				ctx, cancel := context.WithCancel(t.Context())
				defer cancel()
				sink := &counted{Writer: writer}
				sink.each = func(puts int) {
					switch {
					case puts != ledgers/2:
					case how == "cancelled":
						cancel()
					case how == "store closed":
						if err := s.Close(); err != nil {
							t.Error(err)
						}
					}
				}
				err = errors.Join(Run(ctx, w.config(p, sink), all), writer.Close())
				switch {
				case how == "to the end" && err != nil,
					how == "cancelled" && !errors.Is(err, context.Canceled),
					how == "store closed" && !errors.Is(err, store.ErrClosed):
					t.Errorf("%v", err)
				}
				for i, n := range sink.released {
					if n := n.Load(); n != 1 {
						t.Errorf("the %d. ledger was released %d times", i+1, n)
					}
				}
				if len(sink.released) <= ledgers/2 {
					t.Errorf("only %d ledgers came", len(sink.released))
				}
				if how != "store closed" {
					if err := s.Close(); err != nil {
						t.Error(err)
					}
				}
			})
		}
	}
}
