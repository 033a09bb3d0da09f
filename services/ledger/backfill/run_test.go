package backfill

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"

	"dyno/services/ledger/signing"
	"dyno/services/ledger/sim"
	"dyno/services/ledger/sim/fault"
	"dyno/services/ledger/trust"
	"dyno/services/ledger/xrpl"
	"dyno/services/ledger/xrpl/history"

	"pgregory.net/rapid"
)

var levels = []trust.Level{trust.L0, trust.L1, trust.L2, trust.L4}

func TestEveryNameFillsARange(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	p := pool(t, w.server(t, sim.Config{}))
	type change struct {
		name string
		do   func(*Config)
	}
	changes := []change{
		{"defaults", func(c *Config) { c.Fetches, c.Verifiers = 1, 0 }},
		{"window 1", func(c *Config) { c.Window, c.Fetches = 1, 1 }},
		{"more fetches than the window has room", func(c *Config) { c.Window, c.Fetches = 2, 9 }},
		{"a window of 1 and many fetches", func(c *Config) { c.Window, c.Fetches, c.Verifiers = 1, 9, 5 }},
		{"one at a time", func(c *Config) { c.Fetches, c.Verifiers = 1, 1 }},
		{"shards of 1", func(c *Config) { c.Shards.Size = 1 }},
		{"one shard", func(c *Config) { c.Shards.Size, c.Fetches = 2*ledgers, 1 }},
		{"no watch", func(c *Config) { c.Watch = nil }},
		{"a sample of signatures", func(c *Config) { c.Level, c.Sample = trust.L4, 5 }},
	}
	for _, level := range levels {
		changes = append(changes, change{fmt.Sprintf("level %v", level), func(c *Config) { c.Level = level }},
			change{fmt.Sprintf("level %v, no anchor", level), func(c *Config) { c.Level, c.Trusted = level, Trusted{} }})
	}
	for name, checker := range signing.Checkers() {
		changes = append(changes, change{"signatures " + name, func(c *Config) { c.Level, c.Signatures = trust.L4, checker }})
	}
	for _, change := range changes {
		t.Run(change.name, func(t *testing.T) {
			var k keeper
			c := w.config(p, &k)
			c.Signatures = signing.Checkers()["pure"]
			change.do(&c)
			if err := Run(t.Context(), c, all); err != nil {
				t.Fatal(err)
			}
			k.holds(t, w, all)
		})
	}
	if guilty := blames(p); len(guilty) > 0 {
		t.Errorf("fault recorded for an honest server: %v", guilty)
	}
}

// For any assembly and any part of the chain, the Sink receives the true ledgers.
func TestAnyAssemblyGivesTheSame(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	liar := w.server(t, sim.Config{Faults: fault.Rates{fault.Flip: 0.05, fault.Fork: 0.05, fault.Cut: 0.05, fault.Partial: 0.05}})
	p := pool(t, w.server(t, sim.Config{}), liar)
	rapid.Check(t, func(rt *rapid.T) {
		gap := history.Range{From: rapid.Uint32Range(first, last).Draw(rt, "from")}
		gap.To = rapid.Uint32Range(gap.From, last).Draw(rt, "to")
		k := keeper{hold: rapid.IntRange(0, 12).Draw(rt, "hold")}
		c := w.config(p, &k)
		c.Level = rapid.SampledFrom([]trust.Level{trust.L2, trust.L4}).Draw(rt, "level")
		c.Signatures = signing.Checkers()["pure"]
		c.Trusted = w.trusted(rapid.Uint32Range(gap.To, last).Draw(rt, "anchor"))
		c.Fetches = rapid.IntRange(1, 12).Draw(rt, "fetches")
		c.Window = rapid.IntRange(1, 30).Draw(rt, "window")
		c.Verifiers = rapid.IntRange(1, 4).Draw(rt, "verifiers")
		c.Shards = ShardConfig{Size: rapid.IntRange(1, 20).Draw(rt, "size")}
		if err := Run(t.Context(), c, gap); err != nil {
			rt.Fatal(err)
		}
		k.holds(t, w, gap)
	})
	guilty := blames(p)
	delete(guilty, liar.URL())
	if len(guilty) > 0 {
		t.Errorf("fault recorded for an honest server: %v", guilty)
	}
}

// A verifier takes all that waits, as far as its batch has room.
func TestReceive(t *testing.T) {
	r := &run{queue: make(chan *item, 5)}
	for range 5 {
		r.queue <- &item{}
	}
	close(r.queue)
	for _, want := range []int{2, 2, 1, 0} {
		if n := r.receive(make([]*item, 2)); n != want {
			t.Errorf("%d answers, want %d", n, want)
		}
	}
}

func TestNothingToDo(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	s := w.server(t, sim.Config{})
	var k keeper
	c := w.config(pool(t, s), &k)
	before := s.Injected().Answers
	for _, gap := range []history.Range{{}, {From: last, To: first}} {
		if err := Run(t.Context(), c, gap); err != nil {
			t.Errorf("%v: %v", gap, err)
		}
	}
	k.holds(t, w)
	if asked := s.Injected().Answers - before; asked > 0 {
		t.Errorf("%d ledgers were asked for", asked)
	}
}

// Ledgers between an anchor and the range are linked, and not passed to the Sink.
func TestAnchorAbove(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	p := pool(t, w.server(t, sim.Config{}))
	for _, above := range []uint32{1, 2, 9} {
		k := keeper{hold: 3}
		c := w.config(p, &k)
		c.Watch = NewWatch()
		gap := history.Range{From: first, To: last - above}
		if err := Run(t.Context(), c, gap); err != nil {
			t.Fatal(err)
		}
		k.holds(t, w, gap)
		if n := c.Watch.Ledgers.Load(); n != uint64(gap.Len()) {
			t.Errorf("%d ledgers are counted, want %d: headers are not", n, gap.Len())
		}
	}
}

// A hash that the ledger does not have proves no ledger, whether it is of the range's top or of one
// above it.
func TestFalseAnchor(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	for _, above := range []uint32{0, 3} {
		p := pool(t, w.server(t, sim.Config{}))
		var k keeper
		c := w.config(p, &k)
		c.Attempts, c.Trusted.Hash = 2, w.truth[first].Hash
		gap := history.Range{From: first, To: last - above}
		err := Run(t.Context(), c, gap)
		var m *Missing
		if !errors.As(err, &m) || m.Index != last || !errors.Is(err, ErrFork) {
			t.Errorf("%v", err)
		}
		if above > 0 && (err == nil || !strings.Contains(err.Error(), fmt.Sprintf("following headers down from the trusted ledger %d", last))) {
			t.Errorf("%v", err)
		}
		k.holds(t, w)
	}
}

func TestAnchorBelow(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	s := w.server(t, sim.Config{})
	var k keeper
	c := w.config(pool(t, s), &k)
	before := s.Injected().Answers
	c.Trusted = w.trusted(last - 1)
	if err := Run(t.Context(), c, all); err == nil || !strings.Contains(err.Error(), "never up") {
		t.Error(err)
	}
	k.holds(t, w)
	if asked := s.Injected().Answers - before; asked > 0 {
		t.Errorf("%d ledgers were requested without need", asked)
	}
	c.Level = trust.L1 // L1 does not link: an anchor has no effect
	if err := Run(t.Context(), c, all); err != nil {
		t.Error(err)
	}
}

var errSink = errors.New("the disk is gone")

// failing is a Sink that fails from the n-th ledger on.
type failing struct {
	keeper
	after int
}

func (f *failing) Put(ctx context.Context, l *xrpl.Ledger, release func()) error {
	if f.after--; f.after < 0 {
		release()
		return errSink
	}
	return f.keeper.Put(ctx, l, release)
}

func TestSinkFails(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	p := pool(t, w.server(t, sim.Config{}))
	for _, after := range []int{0, 1, ledgers / 2, ledgers - 1} {
		f := &failing{after: after}
		if err := Run(t.Context(), w.config(p, f), all); !errors.Is(err, errSink) {
			t.Errorf("after %d: %v", after, err)
		}
		f.holds(t, w, history.Range{From: uint32(last - after + 1), To: last})
	}
}

// looking is a Sink that records how many answers had arrived before each Put.
type looking struct {
	keeper
	look func(index uint32)
}

func (l *looking) Put(ctx context.Context, x *xrpl.Ledger, release func()) error {
	l.look(x.Index)
	return l.keeper.Put(ctx, x, release)
}

// However slow the Sink is, the window bounds the ledgers in progress.
func TestWindowBoundsWhatIsInFlight(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	s := w.server(t, sim.Config{})
	p := pool(t, s)
	before := s.Injected().Answers
	const window = 4
	l := &looking{}
	l.look = func(index uint32) {
		answers := int(s.Injected().Answers - before)
		if most := int(last-index) + window; answers > most {
			t.Errorf("when ledger %d arrived %d had been answered, of at most %d", index, answers, most)
		}
	}
	c := w.config(p, l)
	c.Window, c.Fetches, c.Shards.Size = window, 8, 1
	if err := Run(t.Context(), c, all); err != nil {
		t.Fatal(err)
	}
	l.holds(t, w, all)
	if n := s.Injected().Answers - before; n != ledgers {
		t.Errorf("%d answers of %d ledgers", n, ledgers)
	}
}
