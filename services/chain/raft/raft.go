// Package raft gives the entries of several nodes one order, which a majority has on disk: Propose
// returns when an entry is durable there and applied here, so that no crash of a minority loses it.
// It is go.etcd.io/raft over a parts/wal, with one leader that proposes.
//
// Proposals that arrive while the ones before are written go together as one entry of raft: one
// fsync and one message a node for all of them.
//
// It is not for connections (package peers), nor does it know what entries say. It does not
// tolerate nodes that lie, nor a node that has lost its log and comes back under the same ID. Run
// owns two goroutines.
package raft

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"log/slog"
	"math/rand/v2"
	"sync"
	"sync/atomic"
	"time"

	pb "go.etcd.io/raft/v3/raftpb"

	"dyno/parts/wal"
	"dyno/services/chain/peers"
)

// Errors of Propose.
var (
	// ErrNotLeader means that another node leads, or none. Nothing was proposed.
	ErrNotLeader = errors.New("this node does not lead")
	// ErrUnknown means that the node does not lead any more: the entry may become part of the order.
	ErrUnknown = errors.New("the leader has changed; whether the entry counts is not known")
	// ErrBusy means that too much waits for a majority. Nothing was proposed.
	ErrBusy = errors.New("too much waits for the other nodes")
)

// Machine is what the entries are for. Its methods are called by one goroutine. Their errors stop
// the node.
type Machine interface {
	// Apply does what a group of entries says. All nodes apply the same in the same order. After a
	// restart, those since the last checkpoint are applied again. It must not wait for a Propose.
	Apply(ctx context.Context, index uint64, entries [][]byte) error
	// Restore brings the state at least to that of a checkpoint: when this node has missed entries,
	// and at the start, with the last one.
	Restore(ctx context.Context, index uint64, checkpoint []byte) error
	// Leads is called when this node has begun to lead, with all entries of earlier leaders applied,
	// and when it does not any more.
	Leads(now bool)
}

// Options of a Node.
type Options struct {
	ID      uint64
	Voters  []uint64 // all nodes with this one; they never change
	WAL     *wal.Log // the caller's to close, after Run
	Machine Machine
	Send    func(to uint64, body []byte) // must not wait; what is lost is sent again
	Log     *slog.Logger
	// Unbatched is a planted fault: each proposal is an entry of its own, with its own fsync and its
	// own messages.
	Unbatched bool
}

// Node is one of the nodes that agree. Any goroutine may use it.
type Node struct {
	o         Options
	core      *core // of the goroutine of Run
	incoming  chan received
	proposals chan *proposal
	points    chan checkpoint
	done      chan struct{} // closed when Run returns

	leader  atomic.Uint64 // 0: none is known
	applied atomic.Uint64

	mu      sync.Mutex // guards what is below
	queue   []output   // to be applied
	bytes   int        // of their entries
	leads   uint64     // the term in which the last of them says that this node leads; 0: it does not
	wake    chan struct{}
	last    uint64 // number of a group
	waiting map[uint64][]*proposal
}

type received struct {
	from     uint64
	messages []*pb.Message
}

type proposal struct {
	entry []byte
	done  chan error // of capacity 1
}

type checkpoint struct {
	index uint64
	data  []byte
	done  chan error // of capacity 1
}

// tick is a tenth of the time after which followers miss a leader.
const tick = 50 * time.Millisecond

// maxBacklog bounds the bytes that wait to be applied: beyond it a node behaves as if the leader's
// entries were lost on their way.
const maxBacklog = 64 << 20

// New opens the log of a node, which Run starts.
func New(o Options) (*Node, error) {
	s, err := openStorage(o.WAL, o.Voters)
	if err != nil {
		return nil, err
	}
	n := &Node{
		o: o, incoming: make(chan received, 1024), proposals: make(chan *proposal, 4096), points: make(chan checkpoint),
		done: make(chan struct{}), wake: make(chan struct{}, 1), last: rand.Uint64(), waiting: map[uint64][]*proposal{},
	}
	n.core, err = newCore(o, s, slog.NewLogLogger(o.Log.Handler(), slog.LevelDebug))
	return n, err
}

// Leader is the ID of the leader; 0 if none is known.
func (n *Node) Leader() uint64 { return n.leader.Load() }

// Applied is the index of the last entry that was applied.
func (n *Node) Applied() uint64 { return n.applied.Load() }

// Propose appends an entry to the order, if this node leads, and waits until a majority has it on
// disk and this node has applied it.
func (n *Node) Propose(ctx context.Context, entry []byte) error {
	p := &proposal{entry: entry, done: make(chan error, 1)}
	select {
	case n.proposals <- p:
	case <-n.done:
		return ErrNotLeader
	case <-ctx.Done():
		return ctx.Err()
	}
	select {
	case err := <-p.done:
		return err
	case <-n.done:
		return ErrUnknown
	case <-ctx.Done():
		return fmt.Errorf("%w: %w", ErrUnknown, ctx.Err())
	}
}

// Receive takes the body of a note that another node has sent. An error is the sender's fault.
func (n *Node) Receive(from uint64, body []byte) error {
	messages, err := parse(from, body)
	if err != nil {
		return err
	}
	select {
	case n.incoming <- received{from, messages}:
	default: // as if it was lost
	}
	return nil
}

// Checkpoint says that the machine's state after an entry is durable without the log, whose entries
// up to that one are then dropped. Data is what Restore needs, here and on a node that missed them.
func (n *Node) Checkpoint(ctx context.Context, index uint64, data []byte) error {
	c := checkpoint{index, data, make(chan error, 1)}
	select {
	case n.points <- c:
		return <-c.done
	case <-n.done:
		return errors.New("the node has stopped")
	case <-ctx.Done():
		return ctx.Err()
	}
}

// Run takes part until ctx ends, or until the log or the machine fails.
func (n *Node) Run(ctx context.Context) error {
	ctx, cancel := context.WithCancelCause(ctx)
	var applying sync.WaitGroup
	applying.Go(func() {
		if err := n.apply(ctx); err != nil {
			cancel(err)
		}
	})
	err := n.drive(ctx)
	cancel(err)
	applying.Wait()
	close(n.done)
	if cause := context.Cause(ctx); !errors.Is(cause, context.Canceled) {
		return cause
	}
	return nil
}

// drive is the loop around the core.
func (n *Node) drive(ctx context.Context) error {
	ticker := time.NewTicker(tick)
	defer ticker.Stop()
	for {
		select {
		case <-ticker.C:
			n.core.raw.Tick()
		case r := <-n.incoming:
			if err := n.step(r); err != nil {
				return err
			}
		case p := <-n.proposals:
			n.propose(p)
		case c := <-n.points:
			c.done <- n.core.log.checkpoint(c.index, c.data)
		case <-ctx.Done():
			return ctx.Err()
		}
		var failed error
		out, err := n.core.advance(func(messages []*pb.Message) { failed = n.core.frames(messages, n.o.Send) })
		if err = errors.Join(err, failed); err != nil {
			return err
		}
		n.deliver(out)
	}
}

// step handles messages. Entries are not taken while too many wait to be applied.
func (n *Node) step(r received) (err error) {
	defer func() {
		if v := recover(); v != nil { // raft panics where its state contradicts a message
			err = fmt.Errorf("raft stops after a message of %x, which contradicts its state: %v", r.from, v)
		}
	}()
	n.mu.Lock()
	full := n.bytes > maxBacklog
	n.mu.Unlock()
	for _, m := range r.messages {
		if full && m.GetType() == pb.MsgApp {
			continue
		}
		if err := n.core.raw.Step(m); err != nil {
			n.o.Log.Debug("raft ignores a message", "from", r.from, "error", err)
		}
	}
	return nil
}

// propose proposes what has arrived together, as one entry. Its first items say which group it is.
func (n *Node) propose(first *proposal) {
	n.last++
	group := []*proposal{first}
	entry := peers.AppendItems(nil, groupID(n.o.ID, n.last), first.entry)
	for more := !n.o.Unbatched; more && len(entry) < maxEntryBytes; {
		select {
		case p := <-n.proposals:
			group, entry = append(group, p), peers.AppendItems(entry, p.entry)
		default:
			more = false
		}
	}
	err := ErrNotLeader
	if n.core.leads() {
		if err = n.core.raw.Propose(entry); err != nil {
			err = fmt.Errorf("%w: %w", ErrBusy, err)
		}
	}
	if err != nil {
		answer(group, err)
		return
	}
	n.mu.Lock()
	n.waiting[n.last] = group
	n.mu.Unlock()
}

func answer(group []*proposal, err error) {
	for _, p := range group {
		p.done <- err
	}
}

func groupID(node, number uint64) []byte {
	return binary.BigEndian.AppendUint64(binary.BigEndian.AppendUint64(nil, node), number)
}
