// Package cluster is several nodes of one chain. A Journal is the journal that they share: raft
// puts accepted transactions and sealed blocks into one order, a majority has them on disk before
// an answer names them, and each node executes the blocks. The leader accepts and seals; the others
// forward to it what they are sent. A Solo connects nodes of which one seals and the others follow.
// Blocks that a node lacks it fetches from the others.
//
// It is not for one node alone (package journal), nor for connections (package peers). A Journal
// and a Solo own their goroutines, which Close ends.
package cluster

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"sync"
	"sync/atomic"

	"github.com/ethereum/go-ethereum/common"
	"github.com/ethereum/go-ethereum/core/types"
	"github.com/ethereum/go-ethereum/rlp"
	"golang.org/x/sync/errgroup"

	"dyno/parts/wal"
	"dyno/parts/wal/segment"
	"dyno/services/chain/journal"
	"dyno/services/chain/node"
	"dyno/services/chain/peers"
	"dyno/services/chain/raft"
)

// Folder is that of raft's log, in the data folder.
const Folder = "raft"

// maxBatch bounds a checkpoint with all that waits, in bytes, in the log. A node that has missed
// entries is sent one as a message.
const maxBatch = 320 << 20

// Options of a Journal.
type Options struct {
	Network  *peers.Network      // which does not run yet
	Listener net.Listener        // nil: no peer can dial this node
	Sealer   peers.ID            // for OpenFollower
	Raft     func(*raft.Options) // changes those of Open, for exhibits; nil: nothing does
	Log      *slog.Logger
	Fail     func(error) // receives the error after which the node must be started again
}

// Journal is a node.Shared.
type Journal struct {
	o       Options
	wal     *wal.Log
	raft    *raft.Node
	network *peers.Network
	ids     map[uint64]peers.ID
	node    *node.Node // since Start

	leads atomic.Bool
	size  atomic.Int64 // bytes of entries since the last checkpoint

	target atomic.Uint64 // the block up to which blocks are fetched; 0: none are

	mu      sync.Mutex
	pending common.Hash // the block that this node seals; zero: none
	agreed  bool        // the nodes have agreed on it

	tasks tasks
}

// number is the ID of a node in raft.
func number(id peers.ID) uint64 { return binary.BigEndian.Uint64(id[:]) }

// Open opens the journal in a folder. Start makes it take part.
func Open(dir string, o Options) (*Journal, error) {
	network := o.Network
	j := &Journal{o: o, network: network, ids: map[uint64]peers.ID{}}
	var voters []uint64
	for _, id := range append(network.Permitted(), network.ID()) {
		if other, taken := j.ids[number(id)]; taken || number(id) == 0 {
			return nil, fmt.Errorf("the ids %v and %v begin alike: make a new key for one of the nodes", id, other)
		}
		j.ids[number(id)] = id
		voters = append(voters, number(id))
	}
	files, err := segment.Open(dir, segment.Options{Log: o.Log})
	if err != nil {
		return nil, err
	}
	j.wal = wal.New(files, wal.Options{Commit: wal.Group, MaxBatch: maxBatch, MaxQueued: 2 * maxBatch})
	options := raft.Options{
		ID: number(network.ID()), Voters: voters, WAL: j.wal, Machine: machine{j}, Log: o.Log,
		Send: func(to uint64, body []byte) { _ = network.Send(j.ids[to], peers.Raft, body) }, // raft sends again what is lost
	}
	if o.Raft != nil {
		o.Raft(&options)
	}
	j.raft, err = raft.New(options)
	if err != nil {
		return nil, errors.Join(err, j.wal.Close())
	}
	return j, nil
}

// Network is that of the node's peers.
func (j *Journal) Network() *peers.Network { return j.network }

// Start connects to the peers and takes part. The node was opened over this journal.
func (j *Journal) Start(n *node.Node) {
	j.node = n
	j.network.Handle(peers.Raft, func(_ context.Context, from peers.ID, body []byte) error {
		if err := j.raft.Receive(number(from), body); err != nil {
			return &peers.Offence{Err: err}
		}
		return nil
	})
	serve(j.network, n, j.Leads)
	j.tasks.start(j.o.Fail, func(ctx context.Context) error { return j.network.Run(ctx, j.o.Listener) }, j.raft.Run)
}

// Close stops taking part.
func (j *Journal) Close() error {
	j.tasks.stop()
	return j.wal.Close()
}

// tasks run until they are stopped, or until one fails.
type tasks struct {
	ctx    context.Context
	cancel context.CancelFunc // nil: they were not started
	done   chan struct{}
}

func (t *tasks) start(fail func(error), all ...func(context.Context) error) {
	ctx, cancel := context.WithCancel(context.Background())
	t.cancel, t.done = cancel, make(chan struct{})
	group, ctx := errgroup.WithContext(ctx)
	t.ctx = ctx
	for _, do := range all {
		group.Go(func() error { return do(ctx) })
	}
	go func() {
		defer close(t.done)
		if err := group.Wait(); err != nil {
			fail(err)
		}
	}()
}

func (t *tasks) stop() {
	if t.cancel != nil {
		t.cancel()
		<-t.done
	}
}

// Replay implements node.Journal. What the journal has comes after Start.
func (j *Journal) Replay(context.Context, journal.Chain) (types.Transactions, error) { return nil, nil }

// Kinds of entries.
const (
	transactions = 't' // items, each the canonical form of one
	block        = 'b' // RLP
)

// Accept implements node.Journal.
func (j *Journal) Accept(raws ...[]byte) error {
	return j.propose(peers.AppendItems([]byte{transactions}, raws...))
}

// Seal implements node.Journal. A block on which the nodes have agreed is sealed, also when this
// node does not lead any more.
func (j *Journal) Seal(b *types.Block) error {
	raw, err := rlp.EncodeToBytes(b)
	if err != nil {
		return err
	}
	j.mu.Lock()
	j.pending, j.agreed = b.Hash(), false
	j.mu.Unlock()
	err = j.propose(append([]byte{block}, raw...))
	j.mu.Lock()
	defer j.mu.Unlock()
	j.pending = common.Hash{}
	if j.agreed {
		return nil
	}
	return err
}

func (j *Journal) propose(entry []byte) error {
	err := j.raft.Propose(context.Background(), entry) // it ends with the leadership
	if err != nil {
		err = fmt.Errorf("%w (%w)", node.ErrLeader, err)
	}
	return err
}

// own reports whether a block is the one that this node seals: then the sealer appends it.
func (j *Journal) own(hash common.Hash) bool {
	j.mu.Lock()
	defer j.mu.Unlock()
	if j.pending == hash {
		j.agreed = true
	}
	return j.agreed && j.pending == hash
}

// Size implements node.Journal.
func (j *Journal) Size() int64 { return j.size.Load() }

// Low implements node.Journal.
func (j *Journal) Low() bool { return j.wal.Low() }

// Leads implements node.Shared.
func (j *Journal) Leads() bool { return j.leads.Load() }

// Ready implements node.Shared.
func (j *Journal) Ready() error {
	if j.raft.Leader() == 0 {
		return errNoLeader
	}
	return behind(j.node, j.target.Load())
}

var errNoLeader = errors.New("no leader: fewer than a majority of the nodes reach each other")

// point is a checkpoint.
type point struct {
	Number uint64 // of the head
	Hash   common.Hash
	Raws   [][]byte // of what waits
}

// Checkpoint implements node.Journal. All entries that were applied are in the chain, whose head is
// durable, or wait; blocks are not appended meanwhile.
func (j *Journal) Checkpoint(head uint64, waiting func() [][]byte) error {
	applied, size := j.raft.Applied(), j.size.Load()
	hash, err := j.node.Chain().HashOf(head)
	if err != nil {
		return err
	}
	data, err := rlp.EncodeToBytes(point{head, hash, waiting()})
	if err == nil {
		err = j.raft.Checkpoint(context.Background(), applied, data)
	}
	if err == nil {
		j.size.Add(-size)
	}
	return err
}
