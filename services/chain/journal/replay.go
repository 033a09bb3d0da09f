package journal

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/ethereum/go-ethereum/common"
	"github.com/ethereum/go-ethereum/core/types"

	"dyno/parts/wal"
)

// Chain is what blocks are appended to.
type Chain interface {
	Head() *types.Header
	HashOf(number uint64) (common.Hash, error)
	Append(context.Context, *types.Block) error
}

// Replay reads the journal, appends to a chain the blocks that it lacks, and returns the accepted
// transactions that are in no block, in their order. The error names the record that is damaged or
// contradicts the chain.
func (j *Journal) Replay(ctx context.Context, chain Chain) (types.Transactions, error) {
	f := &fold{chain: chain, waiting: map[common.Hash]accepted{}}
	first, _ := j.log.Bounds()
	err := j.log.Scan(first, func(number uint64, bytes []byte) error {
		if err := ctx.Err(); err != nil {
			return err
		}
		j.size.Add(int64(len(bytes)))
		r, err := decode(bytes)
		if err == nil {
			err = f.visit(ctx, number, r)
		}
		if err != nil && ctx.Err() == nil {
			err = damaged(j.dir, fmt.Errorf("record %d: %w", number, err))
		}
		return err
	})
	if lost := (*wal.DamageError)(nil); errors.As(err, &lost) {
		err = damaged(j.dir, err)
	}
	if err != nil {
		return nil, err
	}
	return f.rest(), nil
}

// Verify reads all records, without a chain. The error names the first that is damaged.
func (j *Journal) Verify(ctx context.Context) error {
	_, err := j.Replay(ctx, nil)
	return err
}

// fold adds up records.
type fold struct {
	chain   Chain
	waiting map[common.Hash]accepted
}

// accepted is a transaction and the number of its last record.
type accepted struct {
	tx     *types.Transaction
	number uint64
}

func (f *fold) visit(ctx context.Context, number uint64, r record) error {
	switch {
	case f.chain == nil:
		return nil
	case r.transaction != nil:
		f.waiting[r.transaction.Hash()] = accepted{r.transaction, number}
		return nil
	case r.block != nil:
		return f.block(ctx, r.block)
	}
	for hash, a := range f.waiting {
		if a.number < r.checkpoint.Begin {
			delete(f.waiting, hash)
		}
	}
	if head := f.chain.Head().Number.Uint64(); head < r.checkpoint.Block {
		return fmt.Errorf("block %d was durable, and the chain ends at block %d", r.checkpoint.Block, head)
	}
	return nil
}

// block takes the transactions of a block, which it appends unless the chain has it.
func (f *fold) block(ctx context.Context, b *sealed) error {
	number, hash := b.Header.Number.Uint64(), b.Header.Hash()
	head := f.chain.Head().Number.Uint64()
	if number > head+1 {
		return fmt.Errorf("block %d does not follow block %d, where the chain ends", number, head)
	}
	txs := make(types.Transactions, 0, len(b.Hashes))
	for _, h := range b.Hashes {
		if a, ok := f.waiting[h]; ok {
			txs = append(txs, a.tx)
			delete(f.waiting, h)
		}
	}
	if number <= head {
		kept, err := f.chain.HashOf(number)
		if err == nil && kept != hash {
			err = fmt.Errorf("block %d is %x here, and %x in the chain", number, hash, kept)
		}
		return err
	}
	if len(txs) < len(b.Hashes) {
		return fmt.Errorf("block %d has %d transactions, of which %d are in no record", number, len(b.Hashes), len(b.Hashes)-len(txs))
	}
	if err := f.chain.Append(ctx, b.whole(txs)); err != nil {
		return fmt.Errorf("block %d (%x): %w", number, hash, err)
	}
	return nil
}

// rest returns the transactions that wait.
func (f *fold) rest() types.Transactions {
	all := make([]accepted, 0, len(f.waiting))
	for _, a := range f.waiting {
		all = append(all, a)
	}
	slices.SortFunc(all, func(a, b accepted) int { return cmp.Compare(a.number, b.number) })
	txs := make(types.Transactions, len(all))
	for i, a := range all {
		txs[i] = a.tx
	}
	return txs
}
