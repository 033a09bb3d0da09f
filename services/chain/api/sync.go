package api

import (
	"context"
	"fmt"
	"time"

	"github.com/ethereum/go-ethereum/common"
	"github.com/ethereum/go-ethereum/common/hexutil"
	"github.com/ethereum/go-ethereum/core/types"

	"dyno/services/chain/jsonrpc"
)

// How long eth_sendRawTransactionSync waits for the block, by default and at most, go-ethereum's.
const (
	syncWait    = 20 * time.Second
	mostSync    = 50 * time.Second
	syncTimeout = 4 // code of the error when the time is over (EIP-7966)
)

// sendRawTransactionSync answers the receipt of a transaction once it is in a block (EIP-7966).
func (m methods) sendRawTransactionSync(ctx context.Context, params []byte) (any, error) {
	var raw hexutil.Bytes
	var ms *uint64
	if err := jsonrpc.Params(params, 1, &raw, &ms); err != nil {
		return nil, err
	}
	done := m.Pool.Submit(ctx, [][]byte{raw})[0]
	if done.Err != nil {
		return nil, Refusal(done.Err)
	}
	return m.AwaitReceipt(ctx, done.Hash, ms)
}

// AwaitReceipt returns the receipt of an accepted transaction once it is in a block. The time to wait is in
// milliseconds; nil or 0: go-ethereum's.
func (b Backend) AwaitReceipt(ctx context.Context, hash common.Hash, ms *uint64) (any, error) {
	wait := syncWait
	if ms != nil && *ms > 0 {
		wait = time.Duration(min(*ms, uint64(mostSync/time.Millisecond))) * time.Millisecond
	}
	limited, cancel := context.WithTimeout(ctx, wait)
	defer cancel()
	switch sealed, err := b.awaitBlock(limited, hash); {
	case ctx.Err() != nil:
		return nil, ctx.Err()
	case err != nil:
		return nil, err
	case !sealed:
		return nil, &jsonrpc.Error{
			Code: syncTimeout, Data: hash,
			Message: fmt.Sprintf("The transaction was added to the transaction pool but wasn't processed in %v", wait),
		}
	}
	return b.receipt(ctx, hash)
}

// awaitBlock waits until a transaction is in a block. It is false if the context ends before.
func (b Backend) awaitBlock(ctx context.Context, hash common.Hash) (bool, error) {
	for {
		grown := b.Feed.Grown(b.States.Head().Number.Uint64())
		if s, _, err := b.FindTransaction(hash); s != nil || err != nil {
			return s != nil, err
		}
		select {
		case <-grown:
		case <-ctx.Done():
			return false, nil
		}
	}
}

// Settle waits for the block of an accepted transaction, where the node is set so. Without one in
// time the answer is the same: the transaction is durable.
func (b Backend) Settle(ctx context.Context, hash common.Hash) {
	if b.BlockWait <= 0 || !b.executable(b.Pool.Waiting(hash)) {
		return
	}
	ctx, cancel := context.WithTimeout(ctx, b.BlockWait)
	defer cancel()
	_, _ = b.awaitBlock(ctx, hash) // an error is one of the next read's, too
}

// SubmitTransaction submits a signed transaction, and returns its hash when it is durable. The error
// is as of Pool.Submit.
func (b Backend) SubmitTransaction(ctx context.Context, tx *types.Transaction) (common.Hash, error) {
	raw, err := tx.MarshalBinary()
	if err != nil {
		return common.Hash{}, err
	}
	done := b.Pool.Submit(ctx, [][]byte{raw})[0]
	if done.Err != nil {
		return common.Hash{}, done.Err
	}
	return done.Hash, nil
}

// executable reports whether the next block may have a transaction; nil is none.
func (b Backend) executable(tx *types.Transaction) bool {
	if tx == nil {
		return false
	}
	from, err := types.Sender(b.LatestSigner(), tx)
	next, ok := b.Pool.Nonce(from)
	return err == nil && ok && tx.Nonce() < next
}
