package batcher

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"golang.org/x/sync/singleflight"
	"pgregory.net/rapid"
)

// op is a step of the model. Which selects a call or a fetch, as an index into the current ones.
type op struct {
	Do    string // call, cancel; write, acknowledge; look, give, fail
	Key   int
	Which int
}

// history is a sequence of steps and the size of the batcher.
type history struct {
	Concurrent, MaxBatch int
	Ops                  []op
}

var anyHistory = rapid.Custom(func(t *rapid.T) history {
	anyOp := rapid.Custom(func(t *rapid.T) op {
		return op{
			rapid.SampledFrom([]string{"call", "call", "call", "write", "acknowledge", "look", "look", "give", "give", "fail", "cancel"}).Draw(t, "do"),
			rapid.IntRange(0, 2).Draw(t, "key"),
			rapid.IntRange(0, 5).Draw(t, "which"),
		}
	})
	return history{
		rapid.IntRange(1, 3).Draw(t, "concurrent"),
		rapid.IntRange(1, 3).Draw(t, "batch"),
		rapid.SliceOfN(anyOp, 20, 60).Draw(t, "ops"),
	}
})

// reader is the interface that the model calls, that of Batcher.Do.
type reader interface {
	Do(ctx context.Context, key int) (version int, found bool, err error)
	Close()
}

type fetch = func(ctx context.Context, keys []int, answers []Answer[int]) error

func batching(h history, f fetch) reader {
	return New(sized(Config[int, int]{Fetch: f, Concurrent: h.Concurrent, MaxBatch: h.MaxBatch}))
}

// TestNeverOlderThanTheCall writes and reads at random. The model chooses when a fetch reads the
// store and when it returns, and when a write becomes visible and is acknowledged. A call must not
// return a version older than one acknowledged before the call began; and every call must return.
func TestNeverOlderThanTheCall(t *testing.T) {
	for name, open := range map[string]func(history, fetch) reader{
		"Do":    batching,
		"Begin": func(h history, f fetch) reader { return beginning{batching(h, f).(*Batcher[int, int])} },
	} {
		t.Run(name, func(t *testing.T) {
			rapid.Check(t, func(rt *rapid.T) {
				if err := follow(t, open, anyHistory.Draw(rt, "history")); err != nil {
					rt.Fatal(err)
				}
			})
		})
	}
}

// joining has the fault that this package avoids: it joins fetches in progress.
type joining struct {
	group singleflight.Group
	fetch fetch
}

func (j *joining) Do(ctx context.Context, key int) (version int, found bool, err error) {
	c := j.group.DoChan(strconv.Itoa(key), func() (any, error) {
		var a [1]Answer[int]
		err := j.fetch(context.Background(), []int{key}, a[:])
		return a[0], err
	})
	select {
	case r := <-c:
		a := r.Val.(Answer[int])
		return a.Value, a.Found, r.Err
	case <-ctx.Done():
		return 0, false, ctx.Err()
	}
}

func (*joining) Close() {}

// TestTheModelFindsJoining shows that the model detects that fault.
func TestTheModelFindsJoining(t *testing.T) {
	plant := func(_ history, f fetch) reader { return &joining{fetch: f} }
	for seed := range 1000 {
		err := follow(t, plant, anyHistory.Example(seed))
		if errors.Is(err, errStale) {
			t.Logf("history %d: %v", seed, err)
			return
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	t.Error("1000 histories have not shown that singleflight gives stale answers")
}

// follow runs a history in a bubble.
func follow(t *testing.T, open func(history, fetch) reader, h history) (err error) {
	synctest.Test(t, func(*testing.T) {
		m := &model{}
		m.reader = open(h, m.fetch)
		defer m.reader.Close()
		for _, o := range h.Ops {
			m.step(o)
		}
		err = m.end()
	})
	return err
}

const keys = 3

// model is a store of versions and its readers. mu guards what its fetches and calls use; steps run
// while all others wait.
type model struct {
	reader reader

	mu      sync.Mutex
	visible [keys]int // version that a fetch reads
	acked   [keys]int // version that a caller may know of
	fetches []*flight // in progress
	calls   []*reading
	err     error // first error found
}

var (
	errStale = errors.New("stale")
	errFault = errors.New("the store failed")
)

// flight is a fetch in progress.
type flight struct {
	keys []int
	look chan struct{} // closed: read the store
	give chan error    // return this error
}

// reading is a call in progress.
type reading struct {
	key, since int // since: version acknowledged when it began
	cancel     context.CancelFunc
	cancelled  bool
	done       bool
}

func (m *model) fetch(_ context.Context, keys []int, answers []Answer[int]) error {
	f := &flight{slices.Clone(keys), make(chan struct{}), make(chan error)}
	m.mu.Lock()
	m.fetches = append(m.fetches, f)
	m.mu.Unlock()
	<-f.look
	m.mu.Lock()
	for i, k := range keys {
		answers[i] = Answer[int]{Value: m.visible[k], Found: true}
	}
	m.mu.Unlock()
	return <-f.give
}

func (m *model) step(o op) {
	m.mu.Lock()
	switch o.Do {
	case "call":
		m.call(o.Key)
	case "cancel":
		if len(m.calls) > 0 {
			c := m.calls[o.Which%len(m.calls)]
			c.cancelled = true
			c.cancel()
		}
	case "write":
		m.visible[o.Key]++
	case "acknowledge":
		m.acked[o.Key] = m.visible[o.Key]
	default:
		m.advance(o)
	}
	m.mu.Unlock()
	synctest.Wait()
}

// advance lets a fetch read the store, or return if it has.
func (m *model) advance(o op) {
	if len(m.fetches) == 0 {
		return
	}
	i := o.Which % len(m.fetches)
	f := m.fetches[i]
	looked := false
	select {
	case <-f.look:
		looked = true
	default:
	}
	switch {
	case !looked:
		close(f.look)
	case o.Do == "look":
	default:
		m.fetches = slices.Delete(m.fetches, i, i+1)
		var err error
		if o.Do == "fail" {
			err = errFault
		}
		go func() { f.give <- err }()
	}
}

func (m *model) call(key int) {
	ctx, cancel := context.WithCancel(context.Background())
	r := &reading{key: key, since: m.acked[key], cancel: cancel}
	m.calls = append(m.calls, r)
	go func() {
		defer cancel()
		version, found, err := m.reader.Do(ctx, key)
		m.mu.Lock()
		defer m.mu.Unlock()
		r.done = true
		if err := r.judge(version, found, err); err != nil && m.err == nil {
			m.err = err
		}
	}()
}

func (r *reading) judge(version int, found bool, err error) error {
	switch {
	case r.cancelled && errors.Is(err, context.Canceled), errors.Is(err, errFault):
		return nil
	case err != nil || !found:
		return fmt.Errorf("key %d: found %v, %w", r.key, found, err)
	case version < r.since:
		return fmt.Errorf("key %d: version %d, after %d was acknowledged: %w", r.key, version, r.since, errStale)
	}
	return nil
}

// end lets everything in progress end.
func (m *model) end() error {
	time.Sleep(time.Minute) // no step waits for time
	for range 4 * len(m.calls) {
		m.step(op{Do: "give"})
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	for i, r := range m.calls {
		if !r.done && m.err == nil {
			m.err = fmt.Errorf("call %d of %d, for key %d, has not returned", i, len(m.calls), r.key)
		}
		r.cancel() // so that the bubble ends
	}
	return m.err
}
