package cluster

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/ethereum/go-ethereum/common"

	"dyno/services/chain/peers"
)

// wires connects nodes in memory: what one sends another handles, unless it is lost.
type wires struct {
	mu    sync.Mutex
	ends  map[peers.ID]*end
	lost  bool
	notes int
}

func (w *wires) lose(all bool) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.lost = all
}

// end is a node's end of the wires.
type end struct {
	*wires
	id    peers.ID
	near  []peers.ID
	notes map[peers.Kind]peers.Note
	watch []func(peers.ID, bool)
	ended error // why a peer's connection ended
}

func (e *end) Handle(kind peers.Kind, do peers.Note) { e.notes[kind] = do }
func (e *end) Watch(do func(id peers.ID, up bool))   { e.watch = append(e.watch, do) }
func (e *end) Broadcast(kind peers.Kind, body []byte, but peers.ID) {
	for _, id := range e.near {
		if id != but {
			_ = e.Send(id, kind, body)
		}
	}
}

func (e *end) Send(to peers.ID, kind peers.Kind, body []byte) error {
	e.mu.Lock()
	other, lost := e.ends[to], e.lost
	e.wires.notes++
	e.mu.Unlock()
	if lost {
		return peers.ErrFull
	}
	b := bytes.Clone(body)
	err := other.notes[kind](context.Background(), e.id, b)
	clear(b) // it was valid during the call only
	if err != nil {
		other.mu.Lock()
		defer other.mu.Unlock()
		other.ended = err
	}
	return nil
}

// gossiper accepts transactions that begin with "ok".
type gossiper struct {
	*gossip
	end   *end
	mu    sync.Mutex
	pool  []string
	calls int
	heads []string
}

func (n *gossiper) Submit(_ context.Context, raws [][]byte) []verdict {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.calls += len(raws)
	verdicts := make([]verdict, len(raws))
	for i, raw := range raws {
		switch text := string(raw); {
		case slices.Contains(n.pool, text):
			verdicts[i] = wasKnown
		case strings.HasPrefix(text, "ok"):
			n.pool = append(n.pool, text)
		case strings.HasPrefix(text, "later"):
			verdicts[i] = wasRefused
		default:
			verdicts[i] = wasInvalid
		}
	}
	return verdicts
}

func (n *gossiper) Waiting(visit func([]byte) bool) {
	n.mu.Lock()
	raws := slices.Clone(n.pool)
	n.mu.Unlock()
	for _, raw := range raws {
		if !visit([]byte(raw)) {
			return
		}
	}
}

func (n *gossiper) Head() (uint64, common.Hash) { return uint64(n.end.id[0]), common.Hash{n.end.id[0]} }

func (n *gossiper) PeerHead(from peers.ID, number uint64, hash common.Hash) {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.heads = append(n.heads, fmt.Sprint(from[0], number, hash[0]))
}

// accept is what the API does.
func (n *gossiper) accept(texts ...string) {
	for _, text := range texts {
		n.Submit(context.Background(), [][]byte{[]byte(text)})
		n.spread([]byte(text))
	}
}

func (n *gossiper) has() string {
	n.mu.Lock()
	defer n.mu.Unlock()
	return strings.Join(slices.Sorted(slices.Values(n.pool)), " ")
}

// line runs nodes 1 to size, each connected to those beside it, in a bubble.
func line(t *testing.T, size int, test func(w *wires, nodes []*gossiper)) {
	synctest.Test(t, func(t *testing.T) {
		w := &wires{ends: map[peers.ID]*end{}}
		var nodes []*gossiper
		for i := range size {
			e := &end{wires: w, id: peers.ID{byte(i + 1)}, notes: map[peers.Kind]peers.Note{}}
			if i > 0 {
				e.near = append(e.near, peers.ID{byte(i)})
			}
			if i < size-1 {
				e.near = append(e.near, peers.ID{byte(i + 2)})
			}
			w.ends[e.id] = e
			n := &gossiper{end: e}
			n.gossip = newGossip(n, e)
			nodes = append(nodes, n)
		}
		ctx, cancel := context.WithCancel(t.Context())
		var running sync.WaitGroup
		for _, n := range nodes {
			running.Go(func() { n.run(ctx) })
		}
		test(w, nodes)
		cancel()
		running.Wait()
	})
}

func TestTransactionsReachAll(t *testing.T) {
	line(t, 4, func(_ *wires, nodes []*gossiper) {
		nodes[0].accept("ok 1", "ok 2")
		nodes[3].accept("ok 3")
		synctest.Wait()
		for i, n := range nodes {
			if got := n.has(); got != "ok 1 ok 2 ok 3" {
				t.Errorf("node %d has %q", i+1, got)
			}
		}
		before := nodes[1].calls
		time.Sleep(10 * offerEvery)
		if nodes[1].calls > before+3 { // of its own, once
			t.Errorf("what waits was judged %d times again", nodes[1].calls-before)
		}
	})
}

func TestLostTransactionsArriveLater(t *testing.T) {
	line(t, 2, func(w *wires, nodes []*gossiper) {
		w.lose(true)
		nodes[0].accept("ok 1")
		synctest.Wait()
		if nodes[1].has() != "" {
			t.Fatal("it arrived")
		}
		w.lose(false)
		nodes[0].changed(nodes[1].end.id, true)
		synctest.Wait()
		if nodes[1].has() != "ok 1" || !slices.Equal(nodes[1].heads, []string{"1 1 1"}) {
			t.Errorf("after connecting it has %q and the heads %v", nodes[1].has(), nodes[1].heads)
		}
		w.lose(true)
		nodes[0].accept("ok 2")
		synctest.Wait()
		w.lose(false)
		time.Sleep(2 * offerEvery)
		if nodes[1].has() != "ok 1 ok 2" {
			t.Errorf("after a while it has %q", nodes[1].has())
		}
	})
}

func TestBatchesAreBounded(t *testing.T) {
	line(t, 2, func(w *wires, nodes []*gossiper) {
		large := strings.Repeat("x", 100<<10)
		for i := range 20 {
			nodes[0].accept(fmt.Sprint("ok ", i, large))
		}
		synctest.Wait()
		if len(nodes[1].pool) != 20 || w.notes < 4 {
			t.Errorf("%d transactions of 100 KB came in %d notes", len(nodes[1].pool), w.notes)
		}
		w.notes = 0
		for range 3000 {
			nodes[0].spread([]byte("ok"))
		}
		synctest.Wait()
		if w.notes < 3 || w.notes > 100 {
			t.Errorf("3,000 transactions came in %d notes", w.notes)
		}
		idle := newGossip(nodes[0], &end{notes: map[peers.Kind]peers.Note{}}) // which does not run
		idle.spread(slices.Repeat([][]byte{[]byte(large)}, 100)...)
		if idle.bytes > queuedBytes || len(idle.queued) < 50 {
			t.Errorf("%d transactions of %d bytes are queued", len(idle.queued), idle.bytes)
		}
	})
}

func TestInvalidTransactionsAreBlamed(t *testing.T) {
	line(t, 2, func(w *wires, nodes []*gossiper) {
		send := func(texts ...string) {
			var body []byte
			for _, text := range texts {
				body = peers.AppendItems(body, []byte(text))
			}
			_ = nodes[0].end.Send(nodes[1].end.id, peers.Transactions, body)
		}
		for i := range 10 * maxInvalid {
			send(fmt.Sprint("later ", i))
		}
		for i := range 5 * maxInvalid {
			send(fmt.Sprint("bad ", i))
			if i%maxInvalid == maxInvalid-1 {
				time.Sleep(2 * time.Minute)
			}
		}
		if err := nodes[1].end.ended; err != nil {
			t.Fatalf("it was blamed: %v", err)
		}
		for i := range maxInvalid + 1 {
			send(fmt.Sprint("bad ", i))
		}
		offence := (*peers.Offence)(nil)
		if !errors.As(nodes[1].end.ended, &offence) {
			t.Errorf("the flood ended with %v", nodes[1].end.ended)
		}
		for _, bad := range []struct {
			kind peers.Kind
			body string
		}{{peers.Transactions, "\xff"}, {peers.Head, "short"}, {peers.Head, strings.Repeat("x", 41)}} {
			nodes[1].end.ended = nil
			_ = nodes[0].end.Send(nodes[1].end.id, bad.kind, []byte(bad.body))
			if !errors.As(nodes[1].end.ended, &offence) {
				t.Errorf("%q ended with %v", bad.body, nodes[1].end.ended)
			}
		}
	})
}
