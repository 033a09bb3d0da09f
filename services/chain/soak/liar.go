package soak

import (
	"context"
	"encoding/binary"
	"errors"
	"log/slog"
	"sync"
	"sync/atomic"

	"github.com/ethereum/go-ethereum/common"
	"github.com/ethereum/go-ethereum/common/hexutil"
	"github.com/ethereum/go-ethereum/core/types"
	"github.com/ethereum/go-ethereum/rlp"

	"dyno/services/chain/chaintest"
	"dyno/services/chain/genesis"
	"dyno/services/chain/peers"
)

// lies change an honest node's block. Valid blocks that a permitted peer makes up are none of them:
// between the nodes of raft they are not found out.
var lies = []func(h *types.Header, raw []byte) []byte{
	func(h *types.Header, _ []byte) []byte { h.TxHash[0] ^= 1; return nil },
	func(h *types.Header, _ []byte) []byte { h.Root[0] ^= 1; return nil }, // shows when it is executed
	func(h *types.Header, _ []byte) []byte { h.ReceiptHash[0] ^= 1; return nil },
	func(h *types.Header, _ []byte) []byte { h.ParentHash[0] ^= 1; return nil },
	func(h *types.Header, _ []byte) []byte { h.Number.Add(h.Number, common.Big1); return nil },
	func(_ *types.Header, raw []byte) []byte { return raw[:len(raw)/2] },
}

// deceiver is a permitted peer of a node that serves bad blocks, and boasts of blocks that no node
// has. It takes no part in raft.
type deceiver struct {
	told atomic.Int64 // lies
	end  func()
}

func lieTo(key peers.Key, victim peers.Address, honest *member, kind int) (*deceiver, error) {
	n, err := peers.New(peers.Options{Key: key, Addresses: []peers.Address{victim}, Chain: chaintest.ChainID,
		Genesis: genesis.Development().Block().Hash(), Log: slog.New(slog.DiscardHandler)})
	if err != nil {
		return nil, err
	}
	d := &deceiver{}
	n.Handle(peers.Raft, func(context.Context, peers.ID, []byte) error { return nil })
	n.Serve(peers.Submit, func(context.Context, peers.ID, []byte) ([]byte, error) { return nil, errors.New("busy") })
	n.Serve(peers.Hashes, func(context.Context, peers.ID, []byte) ([]byte, error) {
		d.told.Add(1)
		return peers.AppendItems(nil, make([]byte, 32), make([]byte, 32), make([]byte, 32)), nil
	})
	n.Serve(peers.Blocks, func(_ context.Context, _ peers.ID, question []byte) ([]byte, error) {
		d.told.Add(1)
		return lie(honest, binary.BigEndian.Uint64(question), kind)
	})
	ctx, cancel := context.WithCancel(context.Background())
	var running sync.WaitGroup
	running.Go(func() { _ = n.Run(ctx, nil) })
	d.end = func() { cancel(); running.Wait() }
	return d, nil
}

// lie returns a bad block of a number.
func lie(honest *member, number uint64, kind int) ([]byte, error) {
	var raw hexutil.Bytes
	if err := honest.call(&raw, "debug_getRawBlock", hexutil.Uint64(number)); err != nil {
		return nil, err
	}
	b := new(types.Block)
	if err := rlp.DecodeBytes(raw, b); err != nil {
		return nil, err
	}
	h := b.Header()
	if cut := lies[kind](h, raw); cut != nil {
		return peers.AppendItems(nil, cut), nil
	}
	bad, err := rlp.EncodeToBytes(b.WithSeal(h))
	return peers.AppendItems(nil, bad), err
}
