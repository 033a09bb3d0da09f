package cluster

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"time"

	"github.com/ethereum/go-ethereum/common"
	"github.com/ethereum/go-ethereum/core/types"

	"dyno/services/chain/blockchain"
	"dyno/services/chain/node"
)

// again is the time after which a sync that failed is tried again.
const again = time.Second

// fetch fetches blocks up to a number from peers, as far as they have them. What is their fault, or
// that of the network, is logged, and fetch returns after a while, for the caller to try again. An
// error is that of this node, or of ctx.
func fetch(ctx context.Context, log *slog.Logger, into following, from []source, number uint64) error {
	before, err := into.Head(), errNoPeer
	if len(from) > 0 {
		err = syncBlocks(ctx, into, from)
	}
	switch {
	case ctx.Err() != nil:
		return ctx.Err()
	case err == nil && into.Head() > before:
		return nil
	case err != nil && !errors.Is(err, errNoPeer):
		return err
	}
	log.Warn("blocks are missing, and are requested again", "head", into.Head(), "wanted", number, "error", err)
	wait := time.NewTimer(again)
	defer wait.Stop()
	select {
	case <-wait.C:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

// lag is how far behind, in blocks, a node may be and count as ready.
const lag = 64

// behind is an error when a node lacks many blocks up to a number.
func behind(n *node.Node, number uint64) error {
	if head := n.Chain().Head().Number.Uint64(); number > head+lag {
		return fmt.Errorf("behind by %d blocks: this node fetches them", number-head)
	}
	return nil
}

// following is the chain as block sync sees it.
type following struct {
	node   *node.Node
	hashes map[uint64]common.Hash // that the blocks must have; nil: whatever follows the head
}

// Head implements growing.
func (f following) Head() uint64 { return f.node.Chain().Head().Number.Uint64() }

// Verify implements growing.
func (f following) Verify(b *types.Block) error {
	if want := f.hashes[b.NumberU64()]; f.hashes != nil && b.Hash() != want {
		return fmt.Errorf("its hash is %x, and the node that seals has %x", b.Hash(), want)
	}
	return verifyBlock(b, types.LatestSigner(f.node.Chain().Genesis.Config))
}

// Commit implements growing. A block with the right hash that cannot be executed is not its peer's
// fault.
func (f following) Commit(ctx context.Context, b *types.Block) error {
	err := f.node.Follow(ctx, b)
	if invalid := (*blockchain.Invalid)(nil); errors.As(err, &invalid) && ctx.Err() == nil && f.hashes == nil {
		return &badBlock{err}
	}
	if err == nil && f.Head() != b.NumberU64() {
		return &badBlock{errors.New("it does not follow the block before it")}
	}
	return err
}
