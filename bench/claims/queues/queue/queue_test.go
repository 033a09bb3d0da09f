package queue_test

import (
	"slices"
	"strings"
	"testing"

	"dyno/bench/claims/queues/queue"
	"dyno/bench/claims/queues/queue/queuetest"

	"go.uber.org/goleak"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func TestConformance(t *testing.T) {
	for name, build := range queue.Constructors[queuetest.Value]() {
		t.Run(name, func(t *testing.T) { queuetest.Test(t, build, name != "round-robin") })
	}
}

func BenchmarkQueue(b *testing.B) {
	for _, name := range queue.Names() {
		b.Run(name, func(b *testing.B) { queuetest.Bench(b, queue.Constructors[queuetest.Value]()[name]) })
	}
}

func TestUnknownNameListsThoseThatExist(t *testing.T) {
	_, err := queue.New[int]("bufferd", queue.Config{})
	if err == nil {
		t.Fatal("an unknown name was accepted")
	}
	for _, name := range []string{"unbuffered", "buffered", "shards", "round-robin", "ring", "swap", "bufferd"} {
		if !strings.Contains(err.Error(), name) {
			t.Errorf("%q does not mention %s", err, name)
		}
	}
}

// The ring grows only when it is full: its memory depends on the peak.
func TestRingGrowsByDoubling(t *testing.T) {
	q := queue.NewRing[int](1 << 10)
	for i, want := range map[int]uint64{64: 0, 65: 1, 128: 1, 129: 2, 1024: 4} {
		q := queue.NewRing[int](1 << 10)
		for range i {
			if !q.Put(0, 1) {
				t.Fatal("refused below its cap")
			}
		}
		if got := q.Stats().Growths; got != want {
			t.Errorf("%d values: %d growths, want %d", i, got, want)
		}
	}
	buf := make([]int, 1)
	for range 10_000 { // values that come and go need no more memory
		q.Put(0, 1)
		q.Take(0, buf)
	}
	if got := q.Stats().Growths; got != 0 {
		t.Errorf("%d growths with one value at a time", got)
	}
}

// Values of one key fill all shards evenly, and so lose their order.
func TestRoundRobinIsEvenAndOutOfOrder(t *testing.T) {
	const shards, values = 4, 32
	q := queue.NewRoundRobin[int](queue.Config{Shards: shards, Capacity: values})
	for i := range values {
		if !q.Put(1, i) {
			t.Fatalf("refused value %d of %d", i, values)
		}
	}
	for i, depth := range q.Stats().Depths {
		if depth != values/shards {
			t.Errorf("shard %d holds %d values, not %d", i, depth, values/shards)
		}
	}
	got := make([]int, 0, values)
	for buf := make([]int, 5); q.Len() > 0; {
		got = append(got, buf[:q.Take(0, buf)]...)
	}
	if slices.IsSorted(got) {
		t.Errorf("the order was kept: %v", got)
	}
}

func TestShardsShowTheirDepths(t *testing.T) {
	q := queue.NewShards[int](queue.Config{Shards: 4, Capacity: 40})
	for range 7 {
		q.Put(1, 1)
	}
	q.Put(2, 1)
	if d := q.Stats().Depths; len(d) != 4 || d[1] != 7 || d[2] != 1 || d[0]+d[3] != 0 {
		t.Errorf("depths %v", d)
	}
	for range 4 {
		q.Put(1, 1)
	}
	if s := q.Stats(); s.Refused != 1 || q.Len() != 11 {
		t.Errorf("a full shard took more than its share: %+v, Len %d", s, q.Len())
	}
}
