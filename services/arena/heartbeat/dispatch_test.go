package heartbeat

import (
	"fmt"
	"math/rand/v2"
	"runtime"
	"sync"
	"testing"
)

// owned is a map of its own for each worker, to which heartbeats go through a channel by the id.
type owned struct {
	queues  []chan beatOf
	workers sync.WaitGroup
}

type beatOf struct {
	id   string
	at   int64
	done chan<- bool // nil: the caller does not wait
}

func newOwned() *owned {
	o := &owned{}
	for range runtime.GOMAXPROCS(0) {
		queue := make(chan beatOf, 1024)
		o.queues = append(o.queues, queue)
		o.workers.Go(func() {
			players := map[string]int64{}
			for b := range queue {
				if players[b.id] = b.at; b.done != nil {
					b.done <- true
				}
			}
		})
	}
	return o
}

func (o *owned) send(hash int, b beatOf) { o.queues[hash%len(o.queues)] <- b }

func (o *owned) close() {
	for _, q := range o.queues {
		close(q)
	}
	o.workers.Wait()
}

// BenchmarkDispatch is a heartbeat's way to its player, of 10,000, on all processors.
func BenchmarkDispatch(b *testing.B) {
	const players = 10_000
	ids := make([][]byte, players)
	for n := range ids {
		ids[n] = fmt.Appendf(nil, "player-%d", n)
	}
	names := make([]string, players)
	for n := range names {
		names[n] = string(ids[n])
	}
	each := func(b *testing.B, beat func(n int, done chan bool)) {
		for n := range players {
			beat(n, nil)
		}
		b.ReportAllocs()
		b.ResetTimer()
		b.RunParallel(func(pb *testing.PB) {
			done, from := make(chan bool, 1), rand.IntN(players)
			for n := from; pb.Next(); n = (n + 7919) % players {
				beat(n, done)
			}
		})
	}
	b.Run("map-mutex", func(b *testing.B) {
		var mu sync.Mutex
		heard := map[string]int64{}
		each(b, func(n int, _ chan bool) {
			mu.Lock()
			heard[names[n]] = int64(n)
			mu.Unlock()
		})
	})
	b.Run("map", func(b *testing.B) {
		r := newPresence(players)
		each(b, func(n int, _ chan bool) { r.heard(ids[n], int64(n)) })
	})
	b.Run("channel", func(b *testing.B) {
		o := newOwned()
		each(b, func(n int, _ chan bool) { o.send(n, beatOf{names[n], int64(n), nil}) })
		o.close() // what is sent is done
	})
	b.Run("channel-and-wait", func(b *testing.B) {
		o := newOwned()
		each(b, func(n int, done chan bool) {
			if o.send(n, beatOf{names[n], int64(n), done}); done != nil {
				<-done
			}
		})
		o.close()
	})
}

var counted int // so that counting has a purpose

// BenchmarkApart counts which of 100,000 players were heard of late: with their moments beside what
// else is known of them, and apart.
func BenchmarkApart(b *testing.B) {
	const players = 100_000
	type player struct { // as in a server that has one struct for all
		_     [60]byte // name, room, token, place, score
		heard int64
		_     [24]byte // address, time of joining
	}
	b.Run("together", func(b *testing.B) {
		all := make([]player, players)
		for b.Loop() {
			n := 0
			for i := range all {
				if all[i].heard >= 30 {
					n++
				}
			}
			counted = n
		}
	})
	b.Run("pointers", func(b *testing.B) {
		all := make([]*player, players)
		for i := range all {
			all[i] = new(player)
		}
		rand.Shuffle(players, func(i, j int) { all[i], all[j] = all[j], all[i] })
		for b.Loop() {
			n := 0
			for i := range all {
				if all[i].heard >= 30 {
					n++
				}
			}
			counted = n
		}
	})
	b.Run("apart", func(b *testing.B) {
		heard := make([]int64, players)
		for b.Loop() {
			n := 0
			for i := range heard {
				if heard[i] >= 30 {
					n++
				}
			}
			counted = n
		}
	})
	b.Run("map", func(b *testing.B) {
		r := newPresence(players)
		for n := range players {
			r.heard(fmt.Appendf(nil, "player-%d", n), int64(n))
		}
		for b.Loop() {
			counted = r.count(30)
		}
	})
}
