package cluster

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/ethereum/go-ethereum/common"
	"github.com/ethereum/go-ethereum/core/types"
	"github.com/ethereum/go-ethereum/rlp"

	"dyno/parts/cluster/peers"
	"dyno/services/chain/blocksync"
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
	m.j.leads.Store(now)
	m.j.o.Log.Info("the leader has changed", "leads", now, "leader", m.j.ids[m.j.raft.Leader()])
}

// again is the time after which a sync that failed is tried again.
const again = time.Second

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
	for n.Chain().Head().Number.Uint64() < number {
		var from []blocksync.Peer
		for _, id := range m.j.network.Connected() {
			from = append(from, blocksync.Remote(m.j.network, id, number))
		}
		err := blocksync.ErrNoPeer
		if len(from) > 0 {
			err = blocksync.Sync(ctx, following{m.j}, from, blocksync.Options{})
		}
		if err == nil {
			continue
		}
		m.j.o.Log.Warn("blocks are missing, and are requested again", "head", n.Chain().Head().Number, "wanted", number, "error", err)
		wait := time.NewTimer(again)
		select {
		case <-wait.C:
		case <-ctx.Done():
			wait.Stop()
			return ctx.Err()
		}
	}
	hash, err := n.Chain().HashOf(number)
	if err == nil && hash != want {
		err = fmt.Errorf("block %d is %x here, and %x on the other nodes: this folder is of another chain", number, hash, want)
	}
	return err
}

// following is the chain as block sync sees it.
type following struct{ j *Journal }

// Head implements blocksync.Chain.
func (f following) Head() uint64 { return f.j.node.Chain().Head().Number.Uint64() }

// Verify implements blocksync.Chain.
func (f following) Verify(b *types.Block) error {
	return blocksync.Verify(b, types.LatestSigner(f.j.node.Chain().Genesis.Config), 0)
}

// Commit implements blocksync.Chain.
func (f following) Commit(ctx context.Context, b *types.Block) error {
	err := f.j.node.Follow(ctx, b)
	if err == nil && f.Head() != b.NumberU64() {
		err = errors.New("it does not follow the block before it")
	}
	if err != nil && ctx.Err() == nil {
		err = &blocksync.BadBlock{Err: err}
	}
	return err
}
