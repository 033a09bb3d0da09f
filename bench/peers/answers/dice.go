package main

import (
	"context"
	"encoding/binary"
	"fmt"
	"maps"
	"math/big"
	"math/rand/v2"
	"slices"
	"strings"

	"github.com/ethereum/go-ethereum/common/hexutil"
	"github.com/ethereum/go-ethereum/params"

	"dyno/bench/peers/ethnodes"
)

// object is one of JSON.
type object = map[string]any

// dice throws questions about a chain.
type dice struct {
	*rand.Rand

	head     int
	hashes   []string // of the blocks
	accounts []string
	rich     []string // accounts with some ether at the end
	codes    []string // of accounts that have code
	txs      []transaction
	inputs   []string // of transactions
	topics   []string // of logs
}

type transaction struct {
	Hash, From, To, Input string
	BlockNumber           hexutil.Uint64
}

// newDice reads the chain.
func newDice(ctx context.Context, from *ethnodes.Served, seed uint64) (*dice, error) {
	d := &dice{Rand: rand.New(rand.NewPCG(seed, 0))}
	var head hexutil.Uint64
	if err := from.Call(ctx, &head, "eth_blockNumber"); err != nil {
		return nil, err
	}
	d.head = int(head)
	accounts, topics := map[string]bool{}, map[string]bool{}
	for n := range d.head + 1 {
		var block struct {
			Hash, Miner  string
			Transactions []transaction
		}
		if err := from.Call(ctx, &block, "eth_getBlockByNumber", hexutil.Uint64(n), true); err != nil {
			return nil, err
		}
		var receipts []struct {
			ContractAddress string
			Logs            []struct {
				Address string
				Topics  []string
			}
		}
		if err := from.Call(ctx, &receipts, "eth_getBlockReceipts", hexutil.Uint64(n)); err != nil {
			return nil, err
		}
		d.hashes, d.txs = append(d.hashes, block.Hash), append(d.txs, block.Transactions...)
		accounts[block.Miner] = true
		for _, tx := range block.Transactions {
			accounts[tx.From], accounts[tx.To] = true, true
			if tx.Input != "0x" {
				d.inputs = append(d.inputs, tx.Input)
			}
		}
		for _, r := range receipts {
			accounts[r.ContractAddress] = true
			for _, l := range r.Logs {
				accounts[l.Address] = true
				for _, topic := range l.Topics {
					topics[topic] = true
				}
			}
		}
	}
	delete(accounts, "")
	if len(d.txs) == 0 {
		return nil, fmt.Errorf("%s has no transactions", from.Name)
	}
	d.topics = append(slices.Sorted(maps.Keys(topics)), "0x"+strings.Repeat("00", 32))
	d.accounts = append(slices.Sorted(maps.Keys(accounts)), systemAccounts...)
	for _, account := range d.accounts {
		var code string
		if err := from.Call(ctx, &code, "eth_getCode", account, "latest"); err != nil {
			return nil, err
		}
		if code != "0x" {
			d.codes = append(d.codes, account)
		}
		var balance hexutil.Big
		if err := from.Call(ctx, &balance, "eth_getBalance", account, "latest"); err != nil {
			return nil, err
		}
		if balance.ToInt().Cmp(big.NewInt(params.Ether)) > 0 {
			d.rich = append(d.rich, account)
		}
	}
	d.codes, d.rich = append(d.codes, systemAccounts[0]), append(d.rich, systemAccounts[0])
	return d, nil
}

// systemAccounts are precompiles, an account that is not there, and contracts of the protocol.
var systemAccounts = []string{
	"0x0000000000000000000000000000000000000001", "0x0000000000000000000000000000000000000002",
	"0x0000000000000000000000000000000000000003", "0x0000000000000000000000000000000000000004",
	"0x0000000000000000000000000000000000000005", "0x0000000000000000000000000000000000000009",
	"0x000000000000000000000000000000000000000a", "0xc100000000000000000000000000000000000000",
	"0x000f3df6d732807ef1319fb7b8bb8522d0beac02", "0x0000f90827f1c53a10cb7a02335b175320002935",
}

// code is short code: stores, returns, calls, reverts, logs, reads the block, fails, and does not
// end.
var code = []string{
	"0x600160005500", "0x5f545f5260205ff3", "0x6000600060006000600560013561f100f1",
	"0x6308c379a060e01b6000526020600452600260245261" + "6e6f60f01b60445260646000fd",
	"0x4360005260206000a0600054600101600055", "0x3354600101335500", "0x60003560005260206000f3", "0x4160005260206000f3",
	"0x484a4801425201", "0x5f355f1a40", "0x600143034060005260206000f3", "0x33ff",
	"0x7f1111111111111111111111111111111111111111111111111111111111111111" + "6000a260016001a1",
	"0x60016002a0602060006000f0600055", "0x475f5260205ff3", "0x5f5f5f5f47335af150", "0xfe", "0x5b5f56",
	"0xef0100f39fd6e51aad88f6f4ce6ab8827279cfffb92266", // a delegation (EIP-7702)
	"0x5f5c6001015f5d5f5c5f5260205ff3",                 // transient storage
	"0x60205f5f5e3d5f5260205ff3",
}

// in is true with a probability.
func (d *dice) in(p float64) bool { return d.Float64() < p }

func of[T any](d *dice, values ...T) T { return values[d.IntN(len(values))] }

func (d *dice) account() string { return of(d, d.accounts...) }

// word returns 32 bytes, often of a small number.
func (d *dice) word() string {
	var w [32]byte
	switch d.IntN(5) {
	case 0, 1, 2:
		w[31] = byte(d.IntN(3))
	case 3:
		w[31] = byte(d.IntN(256))
	default:
		for i := 0; i < len(w); i += 8 {
			binary.BigEndian.PutUint64(w[i:], d.Uint64())
		}
	}
	return hexutil.Encode(w[:])
}

func number(n int) string { return hexutil.EncodeUint64(uint64(n)) }

// Quantities beyond 64 bits.
const (
	ether  = "0xde0b6b3a7640000"
	tooBig = "0xc9f2c9cd04674edea40000000" // 10^30
	most   = "0xffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffff"
	most64 = "0xffffffffffffffff"
)

// block names a block: the last, one by its number or hash, the one after the last, or the first.
func (d *dice) block() any {
	switch p := d.Float64(); {
	case p < 0.5:
		return "latest"
	case p < 0.9:
		return number(d.IntN(d.head + 2))
	case p < 0.95:
		return object{"blockHash": of(d, d.hashes...)}
	}
	return "earliest"
}
