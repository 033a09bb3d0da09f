package cluster

import (
	"bytes"
	"context"
	"errors"
	"fmt"

	"github.com/ethereum/go-ethereum/common"
	"github.com/ethereum/go-ethereum/core/types"
	"github.com/ethereum/go-ethereum/rlp"

	"dyno/services/chain/peers"
)

// machine is the node as raft sees it.
type machine struct{ j *Journal }

// Apply implements raft.Machine.
func (m machine) Apply(ctx context.Context, _ uint64, entries [][]byte) error {
	for _, e := range entries {
		m.j.size.Add(int64(len(e)))
		if err := m.apply(ctx, e); err != nil {
			return err
		}
	}
	return nil
}

func (m machine) apply(ctx context.Context, entry []byte) error {
	if len(entry) == 0 {
		return errors.New("an entry is empty")
	}
	content := bytes.Clone(entry[1:]) // the transactions wait longer than the entry lives
	switch entry[0] {
	case transactions:
		raws, err := peers.Items(content, len(content)+1)
		if err == nil {
			m.j.node.Take(raws)
		}
		return err
	case block:
		b := new(types.Block)
		if err := rlp.DecodeBytes(content, b); err != nil {
			return err
		}
		if m.j.own(b.Hash()) {
			return nil
		}
		if head := m.j.node.Chain().Head().Number.Uint64(); b.NumberU64() > head+1 { // this node began without them
			if err := m.catchUp(ctx, b.NumberU64()-1, b.ParentHash()); err != nil {
				return err
			}
		}
		return m.j.node.Follow(ctx, b)
	}
	return fmt.Errorf("an entry of kind %q, which this version does not know", entry[0])
}

// Leads implements raft.Machine.
func (m machine) Leads(now bool) {
	if now {
		if err := m.level(m.j.tasks.ctx); err != nil {
			m.j.o.Log.Error("this node lacks blocks that its peers have, and seals none", "error", err)
			return
		}
	}
	m.j.leads.Store(now)
	m.j.o.Log.Info("the leader has changed", "leads", now, "leader", m.j.ids[m.j.raft.Leader()])
}

// level fetches what peers have beyond the entries of raft, all of which were applied: blocks that
// were imported there, and not here. Sealed without them, a block would begin another chain. A peer
// does not count that is gone before it has sent them, is blamed for what it sent instead, or sends
// nothing: the node must lead, whatever one peer claims.
func (m machine) level(ctx context.Context) error {
	for _, id := range m.j.network.Connected() {
		for vain := 0; vain < inVain; {
			into := following{m.j.node, nil}
			head := into.Head()
			limited, cancel := context.WithTimeout(ctx, again)
			hashes, err := requestBlocks(limited, m.j.network, id, peers.Hashes, head, 1<<20)
			cancel()
			if err != nil || len(hashes) < 2 { // a peer that has gone does not vote either
				break
			}
			last := head + uint64(len(hashes)-1)
			m.j.target.Store(last)
			err = fetch(ctx, m.j.o.Log, into, []source{newRemote(m.j.network, id, last)}, last)
			m.j.target.Store(0)
			if err != nil {
				return err
			}
			if vain++; into.Head() > head {
				vain = 0
			}
		}
	}
	return nil
}

// inVain is how often a peer that claims blocks may be asked for them without sending any.
const inVain = 3

// Restore implements raft.Machine. Blocks that are missing come from peers.
func (m machine) Restore(ctx context.Context, _ uint64, data []byte) error {
	var p point
	if err := rlp.DecodeBytes(data, &p); err != nil {
		return err
	}
	if err := m.catchUp(ctx, p.Number, p.Hash); err != nil {
		return err
	}
	m.j.node.Take(p.Raws)
	return nil
}

// catchUp fetches blocks from peers until the chain has a block.
func (m machine) catchUp(ctx context.Context, number uint64, want common.Hash) error {
	n := m.j.node
	m.j.target.Store(number)
	defer m.j.target.Store(0)
	for n.Chain().Head().Number.Uint64() < number {
		var from []source
		for _, id := range m.j.network.Connected() {
			from = append(from, newRemote(m.j.network, id, number))
		}
		if err := fetch(ctx, m.j.o.Log, following{n, nil}, from, number); err != nil {
			return err
		}
	}
	hash, err := n.Chain().HashOf(number)
	if err == nil && hash != want {
		err = fmt.Errorf("block %d is %x here, and %x on the other nodes: this folder is of another chain", number, hash, want)
	}
	return err
}
