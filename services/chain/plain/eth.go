package main

import (
	"context"
	"errors"

	"github.com/ethereum/go-ethereum/common"
	"github.com/ethereum/go-ethereum/common/hexutil"
	"github.com/ethereum/go-ethereum/core/state"
	"github.com/ethereum/go-ethereum/core/types"
	"github.com/ethereum/go-ethereum/rpc"
)

// eth has the methods eth_*: rpc finds them by reflection.
type eth struct{ n *node }

func (e *eth) ChainId() *hexutil.Big       { return (*hexutil.Big)(e.n.config.ChainID) }
func (e *eth) Syncing() bool               { return false }
func (e *eth) BlockNumber() hexutil.Uint64 { return hexutil.Uint64(e.n.head().NumberU64()) }

// SendRawTransaction answers when the transaction is on the disk.
func (e *eth) SendRawTransaction(raw hexutil.Bytes) (hash common.Hash, err error) {
	tx := new(types.Transaction)
	if err := tx.UnmarshalBinary(raw); err != nil {
		return hash, err
	}
	if err := e.n.send(tx, raw); err != nil {
		return hash, err
	}
	return tx.Hash(), nil
}

// find returns a block; nil if there is none.
func (e *eth) find(at rpc.BlockNumberOrHash) *sealed {
	if hash, ok := at.Hash(); ok {
		if s := e.n.named(hash); s != nil && s.Hash() == hash {
			return s
		}
		return nil
	}
	number, _ := at.Number()
	if number == rpc.EarliestBlockNumber {
		number = 0
	}
	if number < 0 { // all other names are the head's
		number = rpc.BlockNumber(e.n.head().NumberU64())
	}
	s, _ := e.n.block(uint64(number))
	return s
}

// state returns the state after a block.
func (e *eth) state(at rpc.BlockNumberOrHash) (*state.StateDB, error) {
	s := e.find(at)
	if s == nil {
		return nil, errors.New("header not found")
	}
	return e.n.state(s.Block)
}

func (e *eth) GetBalance(of common.Address, at rpc.BlockNumberOrHash) (*hexutil.Big, error) {
	db, err := e.state(at)
	if err != nil {
		return nil, err
	}
	return (*hexutil.Big)(db.GetBalance(of).ToBig()), nil
}

func (e *eth) GetTransactionCount(of common.Address, at rpc.BlockNumberOrHash) (hexutil.Uint64, error) {
	db, err := e.state(at)
	if err != nil {
		return 0, err
	}
	nonce := db.GetNonce(of)
	if number, ok := at.Number(); ok && number == rpc.PendingBlockNumber {
		for e.n.pool.at(of, nonce) != nil {
			nonce++
		}
	}
	return hexutil.Uint64(nonce), nil
}

func (e *eth) GetBlockByNumber(number rpc.BlockNumber, full bool) (map[string]any, error) {
	return e.shown(e.find(rpc.BlockNumberOrHashWithNumber(number)), full)
}

func (e *eth) GetBlockByHash(hash common.Hash, full bool) (map[string]any, error) {
	return e.shown(e.find(rpc.BlockNumberOrHashWithHash(hash, true)), full)
}

func (e *eth) GetTransactionByHash(hash common.Hash) (map[string]any, error) {
	if s, tx := e.mined(hash); tx != nil {
		return e.shownTransaction(tx, s)
	}
	if tx := e.n.pool.get(hash); tx != nil {
		return e.shownTransaction(tx, nil)
	}
	return nil, nil
}

func (e *eth) GetTransactionReceipt(hash common.Hash) map[string]any {
	s, tx := e.mined(hash)
	if tx == nil {
		return nil
	}
	return e.shownReceipt(s.receipts[0], tx)
}

// mined returns a transaction and its block.
func (e *eth) mined(hash common.Hash) (*sealed, *types.Transaction) {
	if s := e.n.named(hash); s != nil {
		return s, s.Transaction(hash)
	}
	return nil, nil
}

// NewHeads is eth_subscribe("newHeads"): the header of every block from now on, in order.
func (e *eth) NewHeads(ctx context.Context) (*rpc.Subscription, error) {
	notifier, ok := rpc.NotifierFromContext(ctx)
	if !ok {
		return nil, rpc.ErrNotificationsUnsupported
	}
	sub, next := notifier.CreateSubscription(), e.n.head().NumberU64()+1
	go func() { // until the socket is closed, which the server does at its end
		for {
			s, grown := e.n.block(next)
			if s != nil {
				if notifier.Notify(sub.ID, s.Header()) != nil {
					return
				}
				next++
				continue
			}
			select {
			case <-grown:
			case <-sub.Err():
				return
			}
		}
	}()
	return sub, nil
}
