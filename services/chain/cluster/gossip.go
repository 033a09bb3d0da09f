package cluster

import (
	"bytes"
	"context"
	"encoding/binary"
	"sync"
	"time"

	"github.com/ethereum/go-ethereum/common"
	"github.com/ethereum/go-ethereum/common/lru"
	"github.com/ethereum/go-ethereum/crypto"

	"dyno/services/chain/peers"
)

// Bounds of gossip.
const (
	batchBytes  = 512 << 10
	batchItems  = 1024
	offerBytes  = 4 << 20 // of the waiting transactions, in one offer
	queuedBytes = 8 << 20 // of transactions that wait for the next batch; further ones are left to an offer
	knownHashes = 32 << 10
	offerEvery  = 10 * time.Second
	maxInvalid  = 100 // transactions a minute, from one peer
)

// verdict is what became of a transaction that a peer sent.
type verdict int

// The verdicts.
const (
	wasAccepted verdict = iota
	wasKnown            // it waits already, or is in a block
	wasRefused          // by the state or by a limit: another time it may be accepted
	wasInvalid          // no state makes it valid, so that its sender should not have accepted it
)

// noteNetwork is what gossip needs of a peers.Network.
type noteNetwork interface {
	Handle(kind peers.Kind, do peers.Note)
	Watch(do func(id peers.ID, connected bool))
	Send(to peers.ID, kind peers.Kind, body []byte) error
	Broadcast(kind peers.Kind, body []byte, but peers.ID)
}

// talker is what gossip needs of the node.
type talker interface {
	// Submit judges transactions of a peer, and keeps the valid ones. Their bytes are the node's.
	Submit(ctx context.Context, raws [][]byte) []verdict
	// Waiting calls visit with waiting transactions, until it returns false.
	Waiting(visit func(raw []byte) bool)
	// Head is the last block.
	Head() (number uint64, hash common.Hash)
	// PeerHead is called with a peer's last block, as the peer says.
	PeerHead(from peers.ID, number uint64, hash common.Hash)
}

// gossip spreads transactions and the number of the last block among peers. A transaction that a
// node has accepted goes to its peers in batches, and those to which it is new pass it on. It goes
// again to a peer that connects, and now and then, so that one that was lost arrives.
//
// A peer that sends many transactions which no state makes valid is blamed. Any goroutine may use
// it.
type gossip struct {
	node    talker
	network noteNetwork
	known   *lru.Cache[common.Hash, struct{}]

	mu      sync.Mutex
	queued  [][]byte
	bytes   int
	wake    chan struct{} // holds one token: something is queued
	invalid map[peers.ID]*tally
	newOnes map[peers.ID]bool // peers that have connected since the last offer
}

// tally counts what a peer did in a minute.
type tally struct {
	since time.Time
	count int
}

// newGossip returns the gossip of a node over a network that does not run yet.
func newGossip(node talker, n noteNetwork) *gossip {
	g := &gossip{
		node: node, network: n, known: lru.NewCache[common.Hash, struct{}](knownHashes), wake: make(chan struct{}, 1),
		invalid: map[peers.ID]*tally{}, newOnes: map[peers.ID]bool{},
	}
	n.Handle(peers.Transactions, g.transactions)
	n.Handle(peers.Head, g.head)
	n.Watch(g.changed)
	return g
}

// changed remembers a peer that has connected: it is sent what it may lack.
func (g *gossip) changed(id peers.ID, connected bool) {
	g.mu.Lock()
	defer g.mu.Unlock()
	if connected {
		g.newOnes[id] = true
		g.signal()
	}
}

// spread sends transactions that this node has accepted to its peers, soon. It does not wait.
func (g *gossip) spread(raws ...[]byte) {
	g.mu.Lock()
	defer g.mu.Unlock()
	for _, raw := range raws {
		if g.bytes+len(raw) > queuedBytes {
			continue // a later offer has it
		}
		g.queued = append(g.queued, raw)
		g.bytes += len(raw)
	}
	g.signal()
}

func (g *gossip) signal() {
	select {
	case g.wake <- struct{}{}:
	default:
	}
}

// announce sends the last block's number and hash to all peers.
func (g *gossip) announce() {
	g.network.Broadcast(peers.Head, g.headBody(), peers.ID{})
}

func (g *gossip) headBody() []byte {
	number, hash := g.node.Head()
	return append(binary.BigEndian.AppendUint64(nil, number), hash[:]...)
}

// run sends what is queued, as much in a batch as has come meanwhile, until ctx ends.
func (g *gossip) run(ctx context.Context) {
	again := time.NewTicker(offerEvery)
	defer again.Stop()
	for {
		select {
		case <-g.wake:
			g.flush()
		case <-again.C:
			g.announce()
			g.offer(func(body []byte) { g.network.Broadcast(peers.Transactions, body, peers.ID{}) })
		case <-ctx.Done():
			return
		}
	}
}

// flush sends what is queued to all, and to new peers the head and what waits.
func (g *gossip) flush() {
	g.mu.Lock()
	raws, newOnes := g.queued, g.newOnes
	g.queued, g.bytes, g.newOnes = nil, 0, map[peers.ID]bool{}
	g.mu.Unlock()
	for id := range newOnes {
		_ = g.network.Send(id, peers.Head, g.headBody()) // what is lost is sent again
		g.offer(func(body []byte) { _ = g.network.Send(id, peers.Transactions, body) })
	}
	b := batch{send: func(body []byte) { g.network.Broadcast(peers.Transactions, body, peers.ID{}) }}
	for _, raw := range raws {
		b.add(raw)
	}
	b.flush()
}

// offer sends waiting transactions in batches.
func (g *gossip) offer(send func(body []byte)) {
	b, size := batch{send: send}, 0
	g.node.Waiting(func(raw []byte) bool {
		b.add(raw)
		size += len(raw)
		return size < offerBytes
	})
	b.flush()
}

// batch gathers transactions for a message.
type batch struct {
	body  []byte
	items int
	send  func(body []byte) // the body is read during the call only
}

func (b *batch) add(raw []byte) {
	if b.items == batchItems || b.items > 0 && len(b.body)+len(raw) > batchBytes {
		b.flush()
	}
	b.body = peers.AppendItems(b.body, raw)
	b.items++
}

func (b *batch) flush() {
	if b.items > 0 {
		b.send(b.body)
		b.body, b.items = b.body[:0], 0
	}
}

// transactions handles a batch of a peer, and passes on what was new.
func (g *gossip) transactions(ctx context.Context, from peers.ID, body []byte) error {
	raws, err := peers.Items(body, batchItems)
	if err != nil {
		return &peers.Offence{Err: err}
	}
	var fresh [][]byte
	var hashes []common.Hash
	for _, raw := range raws {
		if hash := crypto.Keccak256Hash(raw); !g.known.Contains(hash) {
			fresh, hashes = append(fresh, bytes.Clone(raw)), append(hashes, hash)
		}
	}
	if len(fresh) == 0 {
		return nil
	}
	invalid := 0
	on := batch{send: func(body []byte) { g.network.Broadcast(peers.Transactions, body, from) }}
	for i, verdict := range g.node.Submit(ctx, fresh) {
		switch verdict {
		case wasAccepted:
			on.add(fresh[i])
			g.known.Add(hashes[i], struct{}{})
		case wasKnown:
			g.known.Add(hashes[i], struct{}{})
		case wasInvalid:
			invalid++
		}
	}
	on.flush()
	return g.count(from, invalid)
}

// count counts invalid transactions of a peer.
func (g *gossip) count(from peers.ID, invalid int) error {
	if invalid == 0 {
		return nil
	}
	g.mu.Lock()
	defer g.mu.Unlock()
	t := g.invalid[from]
	if t == nil || time.Since(t.since) > time.Minute {
		t = &tally{since: time.Now()}
		g.invalid[from] = t
	}
	if t.count += invalid; t.count > maxInvalid {
		delete(g.invalid, from)
		return peers.Offencef("more than %d invalid transactions in a minute", maxInvalid)
	}
	return nil
}

// head handles the number and hash of a peer's last block.
func (g *gossip) head(_ context.Context, from peers.ID, body []byte) error {
	if len(body) != 8+common.HashLength {
		return peers.Offencef("a head of %d bytes", len(body))
	}
	g.node.PeerHead(from, binary.BigEndian.Uint64(body), common.Hash(body[8:]))
	return nil
}
