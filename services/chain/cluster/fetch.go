package cluster

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"time"
)

// fetch sends ranges of blocks in their order. A window of them is fetched concurrently. Blocks
// that cannot be fetched end it, not the other stages: those before are committed.
func (s *blockSync) fetch(ctx context.Context, out chan<- []sent) error {
	ctx, cancel := context.WithCancel(ctx)
	var fetching sync.WaitGroup
	defer fetching.Wait()
	defer cancel()
	type result struct {
		blocks []sent
		err    error
	}
	var window []chan result // in the order of their blocks
	next, target := s.chain.Head()+1, s.peers.head()
	for {
		for next <= target && len(window) < s.ranges {
			from, n := next, int(min(s.rangeSize(), target-next+1))
			done := make(chan result, 1)
			window = append(window, done)
			fetching.Go(func() {
				blocks, err := s.fetchRange(ctx, from, n)
				done <- result{blocks, err}
			})
			next += uint64(n)
		}
		if len(window) == 0 {
			return nil
		}
		r := <-window[0] // it ends with ctx
		window = window[1:]
		select {
		case out <- r.blocks:
		case <-ctx.Done():
			return ctx.Err()
		}
		if r.err != nil {
			s.unfetched = r.err
			return nil
		}
	}
}

// rangeBytes is what a range should have at most, in bytes, so that a window of large blocks fits
// into memory.
const rangeBytes = 4 << 20

// rangeSize is the number of blocks of the next range, by the size of those before.
func (s *blockSync) rangeSize() uint64 {
	return uint64(min(s.blocks, max(1, rangeBytes/max(1, int(s.blockBytes.Load())))))
}

// fetchRange fetches n blocks from a number on. A peer may send fewer at a time. An error is why
// there are fewer.
func (s *blockSync) fetchRange(ctx context.Context, from uint64, n int) (blocks []sent, err error) {
	for len(blocks) < n {
		next := from + uint64(len(blocks))
		raws, peer, err := s.fetchSome(ctx, next, n-len(blocks))
		if err != nil {
			return blocks, err
		}
		size := 0
		for i, raw := range raws {
			size += len(raw)
			blocks = append(blocks, sent{number: next + uint64(i), raw: raw, peer: peer})
		}
		s.blockBytes.Store(int64(size / len(raws)))
	}
	return blocks, nil
}

// answer is what a peer sent.
type answer struct {
	raws [][]byte
	peer source
	err  error
}

// fetchSome fetches at least one block. It asks one peer after another: the next when one has
// failed, or has not answered for a while. The first blocks count.
func (s *blockSync) fetchSome(ctx context.Context, from uint64, n int) ([][]byte, source, error) {
	ctx, cancel := context.WithTimeoutCause(ctx, rangePatience, fmt.Errorf("%w: block %d was not sent within %v", errNoPeer, from, rangePatience))
	var asking sync.WaitGroup
	defer asking.Wait()
	defer cancel()
	answers := make(chan answer)
	var asked []source
	var failures []error
	overtake := time.NewTimer(0)
	defer overtake.Stop()
	for {
		select {
		case a := <-answers:
			if a.err == nil {
				return a.raws, a.peer, nil
			}
			failures = append(failures, fmt.Errorf("peer %s: %w", a.peer.ID(), a.err))
		case <-overtake.C:
		case <-ctx.Done():
			return nil, nil, context.Cause(ctx)
		}
		peer := s.peers.take(from, asked)
		if peer == nil && len(failures) == len(asked) {
			return nil, nil, errors.Join(append([]error{fmt.Errorf("%w: block %d", errNoPeer, from)}, failures...)...)
		}
		if peer != nil {
			asked = append(asked, peer)
			asking.Go(func() {
				select {
				case answers <- s.ask(ctx, peer, from, n):
				case <-ctx.Done():
				}
			})
			overtake.Reset(overtaking)
		}
	}
}

// ask fetches blocks from one peer. One that was overtaken has failed.
func (s *blockSync) ask(ctx context.Context, peer source, from uint64, n int) answer {
	began := time.Now()
	raws, err := peer.Fetch(ctx, from, n)
	if err == nil && (len(raws) == 0 || len(raws) > n) {
		err = fmt.Errorf("it sent %d blocks instead of %d", len(raws), n)
	}
	s.peers.give(peer, err != nil && (ctx.Err() == nil || time.Since(began) >= overtaking))
	return answer{raws, peer, err}
}

// roster is which peers may be asked.
type roster struct {
	mu    sync.Mutex
	peers []*load
}

// load is what a peer has to do, and how it did.
type load struct {
	source
	requests, failures int
}

func newRoster(peers []source) *roster {
	r := &roster{}
	for _, p := range peers {
		r.peers = append(r.peers, &load{source: p})
	}
	return r
}

func (r *roster) head() (head uint64) {
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, p := range r.peers {
		head = max(head, p.Head())
	}
	return head
}

// take returns a peer that has a block and was not asked: of those with the fewest failures the
// least busy. Nil: there is none. Give ends its request.
func (r *roster) take(block uint64, asked []source) source {
	r.mu.Lock()
	defer r.mu.Unlock()
	var best *load
	for _, p := range r.peers {
		if p.Head() < block || slices.Contains(asked, p.source) {
			continue
		}
		if best == nil || p.failures < best.failures || p.failures == best.failures && p.requests < best.requests {
			best = p
		}
	}
	if best == nil {
		return nil
	}
	best.requests++
	return best.source
}

func (r *roster) give(peer source, failed bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, p := range r.peers {
		if p.source == peer {
			p.requests--
			if failed {
				p.failures++
			}
		}
	}
}

func (r *roster) remove(peer source) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.peers = slices.DeleteFunc(r.peers, func(p *load) bool { return p.source == peer })
}
