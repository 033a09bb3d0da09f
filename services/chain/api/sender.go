package api

import (
	"context"
	"fmt"
	"sort"

	"github.com/ethereum/go-ethereum/common"
	"github.com/ethereum/go-ethereum/common/math"
	"github.com/ethereum/go-ethereum/core/types"

	"dyno/services/chain/jsonrpc"
)

// bySenderAndNonce answers the transaction of an account that has a nonce: the one that waits, or the one in
// the block after which the account's nonce is beyond it. There is none if a test chain has set the nonce.
func (m methods) bySenderAndNonce(ctx context.Context, params []byte) (any, error) {
	var of common.Address
	var nonce math.HexOrDecimal64
	if err := jsonrpc.Params(params, 2, &of, &nonce); err != nil {
		return nil, err
	}
	m.Backend = m.For(ctx)
	executable, queued := m.Pool.Content()
	for _, txs := range []types.Transactions{executable[of], queued[of]} {
		for _, tx := range txs {
			if tx.Nonce() == uint64(nonce) {
				return NewTransaction(tx, m.latest), nil
			}
		}
	}
	head := m.States.Head().Number.Uint64()
	oldest, _ := m.States.Kept()
	var failed error
	beyond := func(number uint64) bool { // the account's nonce after a block
		if failed != nil {
			return true
		}
		header, err := m.Blocks.Header(number)
		if err == nil {
			err = ctx.Err()
		}
		if err != nil {
			failed = err
			return true
		}
		db, err := m.States.StateAt(header)
		if err != nil {
			failed = fmt.Errorf("%w: the state after block %d is not kept (%v)", errNoState, number, err)
			return true
		}
		after := db.GetNonce(of)
		failed = db.Error()
		return after > uint64(nonce)
	}
	oldest = min(oldest, head)
	number := oldest + uint64(sort.Search(int(head-oldest)+1, func(i int) bool { return beyond(oldest + uint64(i)) }))
	switch {
	case failed != nil:
		return nil, failed
	case number > head:
		return nil, nil
	case number == oldest && oldest > 0:
		return nil, fmt.Errorf("%w: it is in block %d or one before, where the states are not kept", errNoState, oldest)
	}
	s, err := m.Sealed(number)
	if err != nil {
		return nil, err
	}
	for i, tx := range s.Transactions() {
		if from, err := types.Sender(s.Signer, tx); err == nil && from == of && tx.Nonce() == uint64(nonce) {
			return newSealed(s.Block, i, s.Signer), nil
		}
	}
	return nil, nil
}
