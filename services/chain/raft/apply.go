package raft

import (
	"context"
	"encoding/binary"
	"fmt"

	pb "go.etcd.io/raft/v3/raftpb"

	"dyno/services/chain/peers"
)

// deliver queues what must be applied. When the node does not lead, its callers wait in vain.
func (n *Node) deliver(out output) {
	status := n.core.raw.BasicStatus()
	n.leader.Store(status.Lead)
	if n.core.leads() {
		out.leads = status.GetTerm()
	}
	n.mu.Lock()
	defer n.mu.Unlock()
	if out.leads == 0 {
		for number, group := range n.waiting {
			answer(group, ErrUnknown)
			delete(n.waiting, number)
		}
	}
	if out.restore == nil && len(out.entries) == 0 && out.leads == n.leads {
		return
	}
	n.leads = out.leads
	n.queue = append(n.queue, out)
	n.bytes += out.size()
	select {
	case n.wake <- struct{}{}:
	default:
	}
}

// apply applies what is delivered, until ctx ends or the machine fails.
func (n *Node) apply(ctx context.Context) error {
	snapshot, err := n.core.log.Snapshot()
	if err == nil {
		err = n.restore(ctx, snapshot)
	}
	leads := uint64(0) // the term for which the machine knows that it leads
	for err == nil {
		select {
		case <-n.wake:
		case <-ctx.Done():
			return nil
		}
		n.mu.Lock()
		queue := n.queue
		n.queue = nil
		n.mu.Unlock()
		for _, out := range queue {
			if leads, err = n.applyOutput(ctx, out, leads); err != nil {
				break
			}
			n.mu.Lock()
			n.bytes -= out.size()
			n.mu.Unlock()
		}
	}
	if ctx.Err() != nil {
		return nil
	}
	return err
}

func (n *Node) applyOutput(ctx context.Context, out output, leads uint64) (uint64, error) {
	if leads != 0 && out.leads != leads {
		n.o.Machine.Leads(false)
		leads = 0
	}
	if out.restore != nil {
		if err := n.restore(ctx, out.restore); err != nil {
			return leads, err
		}
	}
	for _, e := range out.entries {
		if err := n.applyEntry(ctx, e); err != nil {
			return leads, fmt.Errorf("entry %d of raft: %w", e.GetIndex(), err)
		}
		if leads == 0 && out.leads != 0 && e.GetTerm() == out.leads { // so all of earlier leaders are before it
			leads = out.leads
			n.o.Machine.Leads(true)
		}
	}
	return leads, nil
}

// restore passes a checkpoint on. The one with which a cluster begins has no data.
func (n *Node) restore(ctx context.Context, snapshot *pb.Snapshot) error {
	index := snapshot.GetMetadata().GetIndex()
	if len(snapshot.GetData()) > 0 {
		if err := n.o.Machine.Restore(ctx, index, snapshot.GetData()); err != nil {
			return fmt.Errorf("the checkpoint of raft at entry %d: %w", index, err)
		}
	}
	n.applied.Store(index)
	return nil
}

// applyEntry applies the items of a group, and answers the callers that have proposed it.
func (n *Node) applyEntry(ctx context.Context, e *pb.Entry) error {
	if e.GetType() == pb.EntryNormal && len(e.GetData()) > 0 { // a leader begins with one that is empty
		items, err := peers.Items(e.GetData(), maxItems)
		if err != nil || len(items) == 0 || len(items[0]) != 16 {
			return fmt.Errorf("it is no group of proposals (%d items): %w", len(items), err)
		}
		if err := n.o.Machine.Apply(ctx, e.GetIndex(), items[1:]); err != nil {
			return err
		}
		n.applied.Store(e.GetIndex())
		n.answered(items[0])
	}
	n.applied.Store(e.GetIndex())
	return nil
}

func (n *Node) answered(id []byte) {
	if binary.BigEndian.Uint64(id) != n.o.ID {
		return
	}
	number := binary.BigEndian.Uint64(id[8:])
	n.mu.Lock()
	defer n.mu.Unlock()
	answer(n.waiting[number], nil)
	delete(n.waiting, number)
}
