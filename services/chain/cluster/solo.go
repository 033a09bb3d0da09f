package cluster

import (
	"context"
	"errors"
	"fmt"
	"math"
	"sync"

	"github.com/ethereum/go-ethereum/common"
	"github.com/ethereum/go-ethereum/core/types"

	"dyno/services/chain/journal"
	"dyno/services/chain/node"
	"dyno/services/chain/peers"
)

// Solo connects the nodes of a chain that one of them seals. It is a node.Shared. The others
// follow: they fetch blocks from any peer, with the hashes that the sealer has, show what waits
// there, and forward to it what they are sent. What is not on their disk they fetch again.
type Solo struct {
	node.Journal // the sealer's own
	o            Options
	sealer       peers.ID   // zero: this node
	node         *node.Node // since Start
	gossip       *gossip
	tasks        tasks

	mu    sync.Mutex
	heads map[peers.ID]uint64 // of the peers that are connected
	news  chan struct{}       // holds one token: the heads have changed
}

// OpenSolo connects the node that seals, over its own journal.
func OpenSolo(own node.Journal, o Options) *Solo {
	return &Solo{Journal: own, o: o, heads: map[peers.ID]uint64{}, news: make(chan struct{}, 1)}
}

// OpenFollower connects a node that follows the one that seals.
func OpenFollower(o Options) *Solo {
	s := OpenSolo(&unkept{}, o)
	s.sealer = o.Sealer
	return s
}

// Network is that of the node's peers.
func (s *Solo) Network() *peers.Network { return s.o.Network }

// Start connects to the peers. The node was opened over this journal.
func (s *Solo) Start(n *node.Node) {
	s.node = n
	serve(s.o.Network, n, s.Leads)
	s.o.Network.Watch(func(id peers.ID, connected bool) {
		if !connected {
			s.mu.Lock()
			delete(s.heads, id)
			s.mu.Unlock()
		}
	})
	s.gossip = newGossip(talk{s}, s.o.Network)
	s.tasks.start(s.o.Fail, func(ctx context.Context) error { return s.o.Network.Run(ctx, s.o.Listener) },
		func(ctx context.Context) error { s.gossip.run(ctx); return nil }, s.announce, s.follow)
}

// Close disconnects the node.
func (s *Solo) Close() error {
	s.tasks.stop()
	return s.Journal.Close()
}

// Leads implements node.Shared.
func (s *Solo) Leads() bool { return s.sealer == peers.ID{} }

// Forward implements node.Shared.
func (s *Solo) Forward(ctx context.Context, raws [][]byte) []node.Submitted {
	return forward(ctx, s.o.Network, s.sealer, raws, s.o.Log)
}

// Ready implements node.Shared.
func (s *Solo) Ready() error {
	head, connected := s.head(s.sealer)
	if !s.Leads() && !connected {
		return errors.New("the node that seals is not connected")
	}
	return behind(s.node, head)
}

func (s *Solo) head(of peers.ID) (number uint64, connected bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	number, connected = s.heads[of]
	return number, connected
}

// announce sends peers the heads and, when this node seals, what it has accepted.
func (s *Solo) announce(ctx context.Context) error {
	accepted := s.node.Accepted(math.MaxUint64, math.MaxInt)
	head := s.node.Chain().Head().Number.Uint64()
	for {
		select {
		case <-s.node.Grown(head):
			head = s.node.Chain().Head().Number.Uint64()
			s.gossip.announce()
		case <-accepted.More:
			accepted = s.node.Accepted(accepted.From+uint64(len(accepted.Hashes)), math.MaxInt)
			s.spread(accepted.Hashes)
		case <-ctx.Done():
			return nil
		}
	}
}

func (s *Solo) spread(hashes []common.Hash) {
	for _, hash := range hashes {
		if tx := s.node.Waiting(hash); tx != nil && s.Leads() { // gossip passes on what comes from others
			if raw, err := tx.MarshalBinary(); err == nil {
				s.gossip.spread(raw)
			}
		}
	}
}

// follow fetches blocks whenever the sealer has more.
func (s *Solo) follow(ctx context.Context) error {
	for {
		select {
		case <-s.news:
		case <-ctx.Done():
			return nil
		}
		for head, _ := s.head(s.sealer); head > s.node.Chain().Head().Number.Uint64(); head, _ = s.head(s.sealer) {
			if err := s.fetch(ctx); err != nil {
				if ctx.Err() != nil {
					return nil
				}
				return err
			}
		}
	}
}

// fetch fetches some blocks, whose hashes it asks the sealer for.
func (s *Solo) fetch(ctx context.Context) error {
	f := following{s.node, map[uint64]common.Hash{}}
	first, last := f.Head(), f.Head()
	limited, cancel := context.WithTimeout(ctx, patience)
	hashes, err := requestBlocks(limited, s.o.Network, s.sealer, peers.Hashes, first, 1<<20)
	cancel()
	for i, hash := range hashes {
		last = first + uint64(i)
		f.hashes[last] = common.BytesToHash(hash)
	}
	if own := s.node.Chain().Head().Hash(); len(hashes) > 0 && f.hashes[first] != own {
		return fmt.Errorf("block %d is %x here, and %x on the node that seals: this folder is of another chain", first, own, f.hashes[first])
	}
	if err != nil {
		s.o.Log.Warn("the node that seals does not answer", "error", err)
	}
	var from []source
	s.mu.Lock()
	for id, head := range s.heads {
		if head > first && last > first {
			from = append(from, newRemote(s.o.Network, id, min(head, last)))
		}
	}
	s.mu.Unlock()
	return fetch(ctx, s.o.Log, f, from, last)
}

// talk is the node as gossip sees it.
type talk struct{ s *Solo }

// Submit implements talker. The sealer is sent transactions by requests only.
func (t talk) Submit(_ context.Context, raws [][]byte) []verdict {
	verdicts := make([]verdict, len(raws))
	if t.s.Leads() {
		for i := range verdicts {
			verdicts[i] = wasKnown
		}
		return verdicts
	}
	signer := types.LatestSigner(t.s.node.Chain().Genesis.Config)
	for i, err := range t.s.node.Take(raws) {
		if err == nil {
			continue
		}
		verdicts[i] = wasRefused
		tx := new(types.Transaction)
		if err = tx.UnmarshalBinary(raws[i]); err == nil {
			_, err = types.Sender(signer, tx)
		}
		if err != nil {
			verdicts[i] = wasInvalid
		}
	}
	return verdicts
}

// Waiting implements talker.
func (t talk) Waiting(visit func(raw []byte) bool) {
	for _, raw := range t.s.node.Raws() {
		if !visit(raw) {
			return
		}
	}
}

// Head implements talker.
func (t talk) Head() (uint64, common.Hash) {
	head := t.s.node.Chain().Head()
	return head.Number.Uint64(), head.Hash()
}

// PeerHead implements talker.
func (t talk) PeerHead(from peers.ID, number uint64, _ common.Hash) {
	t.s.mu.Lock()
	t.s.heads[from] = number
	t.s.mu.Unlock()
	select {
	case t.s.news <- struct{}{}:
	default:
	}
}

// unkept is the journal of a follower, which promises nothing.
type unkept struct{}

func (unkept) Replay(context.Context, journal.Chain) (types.Transactions, error) { return nil, nil }
func (unkept) Accept(...[]byte) error                                            { return node.ErrLeader }
func (unkept) Seal(*types.Block) error                                           { return node.ErrLeader }
func (unkept) Checkpoint(uint64, func() [][]byte) error                          { return nil }
func (unkept) Low() bool                                                         { return false }
func (unkept) Close() error                                                      { return nil }

// Size is one byte, so that a clean stop makes the chain durable.
func (unkept) Size() int64 { return 1 }
