package api

import (
	"context"
	"fmt"
	"math/big"
	"sync"

	"github.com/ethereum/go-ethereum/common"
	"github.com/ethereum/go-ethereum/common/lru"
	"github.com/ethereum/go-ethereum/consensus/misc/eip4844"
	"github.com/ethereum/go-ethereum/core/types"
	"github.com/ethereum/go-ethereum/crypto"
	"github.com/ethereum/go-ethereum/rpc"

	"dyno/services/chain/store"
)

// Recent keeps the blocks that were asked for last, decoded, with the senders that were recovered:
// clients ask for the transactions and receipts of a block one by one. It may be used from any
// goroutine.
type Recent struct {
	mu     sync.Mutex
	blocks lru.BasicLRU[uint64, *Sealed]
	gas    uint64 // used in them
}

// Bounds of Recent. Gas bounds the bytes: 21,000 is a transfer of some 1.2 kB with its receipt, or
// 2.6 kB of a log.
const (
	recentBlocks = 32
	recentGas    = 960_000_000 // some 55 MB in transfers, 120 MB in logs
)

// NewRecent returns an empty cache.
func NewRecent() *Recent {
	return &Recent{blocks: lru.NewBasicLRU[uint64, *Sealed](recentBlocks + 1)}
}

func (r *Recent) get(number uint64) *Sealed {
	if r == nil {
		return nil
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	s, _ := r.blocks.Get(number)
	return s
}

func (r *Recent) add(number uint64, s *Sealed) {
	if r == nil {
		return
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.blocks.Contains(number) {
		return
	}
	r.blocks.Add(number, s)
	r.gas += s.GasUsed()
	for n := r.blocks.Len(); n > 1 && (n > recentBlocks || r.gas > recentGas); n-- {
		_, oldest, _ := r.blocks.RemoveOldest()
		r.gas -= oldest.GasUsed()
	}
}

// Sealed is a block of the chain. It is shared and must not be changed.
type Sealed struct {
	*types.Block
	// Signer recovers the senders of its transactions.
	Signer types.Signer
	// Receipts returns the receipts, with all that follows from the block.
	Receipts func() (types.Receipts, error)
	// Pending says that the block is not sealed: it is what would be sealed next.
	Pending bool
}

// pending shows the block that would be sealed next like one that is.
func (b Backend) pending(block *types.Block, receipts types.Receipts) *Sealed {
	if block == nil {
		return nil
	}
	return &Sealed{
		Block: block, Signer: b.signer(block.Number(), block.Time()), Pending: true,
		Receipts: sync.OnceValues(func() (types.Receipts, error) { return b.derive(block, store.Clone(receipts)) }),
	}
}

// Sealed returns a block; an error if there is none, which is store.ErrNotFound.
func (b Backend) Sealed(number uint64) (*Sealed, error) {
	if s := b.Recent.get(number); s != nil {
		return s, nil
	}
	block, err := b.Blocks.Block(number)
	if err != nil {
		return nil, err
	}
	s := &Sealed{
		Block: block, Signer: b.signer(block.Number(), block.Time()),
		Receipts: sync.OnceValues(func() (types.Receipts, error) { return b.receipts(block) }),
	}
	b.Recent.add(number, s)
	return s, nil
}

// receipts reads the receipts of a block and derives what is not stored.
func (b Backend) receipts(block *types.Block) (types.Receipts, error) {
	receipts, err := b.Blocks.Receipts(block.NumberU64())
	if err != nil {
		return nil, err
	}
	return b.derive(block, receipts)
}

// derive adds to the receipts of a block what follows from it.
func (b Backend) derive(block *types.Block, receipts types.Receipts) (types.Receipts, error) {
	var blobPrice *big.Int
	if block.ExcessBlobGas() != nil {
		blobPrice = eip4844.CalcBlobFee(b.Genesis.Config, block.Header())
	}
	err := receipts.DeriveFields(b.Genesis.Config, block.Hash(), block.NumberU64(), block.Time(), block.BaseFee(), blobPrice, block.Transactions())
	if err != nil {
		return nil, fmt.Errorf("receipts of block %d: %w", block.NumberU64(), err)
	}
	signer := b.signer(block.Number(), block.Time()) // knows senders that DeriveFields does not
	for i, tx := range block.Transactions() {
		if tx.To() == nil {
			from, _ := types.Sender(signer, tx) // the block was executed
			receipts[i].ContractAddress = crypto.CreateAddress(from, tx.Nonce())
		}
	}
	return receipts, nil
}

// Find returns the block that a parameter names; nil if there is none. That of pending is not sealed.
func (b Backend) Find(ctx context.Context, at rpc.BlockNumberOrHash) (*Sealed, error) {
	b = b.For(ctx)
	if isPending(at) {
		switch block, receipts, err := b.Pool.PendingBlock(ctx); {
		case err != nil:
			return nil, Refusal(err)
		case block != nil:
			return b.pending(block, receipts), nil
		}
	}
	number, _ := at.Number()
	found := b.NumberOf(number)
	if hash, ok := at.Hash(); ok {
		var err error
		if found, err = b.Blocks.Number(hash); err != nil {
			return nil, orNotFound(err, nil)
		}
	}
	s, err := b.Sealed(found)
	return s, orNotFound(err, nil)
}

// FindTransaction returns the block of a sealed transaction, and its index there; nil: it is in no
// block.
func (b Backend) FindTransaction(hash common.Hash) (*Sealed, int, error) {
	number, index, err := b.Blocks.Transaction(hash)
	if err != nil {
		return nil, 0, orNotFound(err, nil)
	}
	s, err := b.Sealed(number)
	if err == nil && int(index) >= len(s.Transactions()) {
		err = fmt.Errorf("block %d has no transaction %d, as the index says", number, index)
	}
	return s, int(index), err
}
