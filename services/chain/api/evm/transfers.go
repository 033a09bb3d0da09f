package evm

import (
	"math/big"

	"github.com/ethereum/go-ethereum/common"
	"github.com/ethereum/go-ethereum/core/tracing"
	"github.com/ethereum/go-ethereum/core/types"
	"github.com/ethereum/go-ethereum/core/vm"
)

// The log of a transfer of ether, like that of a token (ERC-20) of an address that no contract has
// (ERC-7528).
var (
	transferTopic   = common.HexToHash("0xddf252ad1be2c89b69c2b068fc378daa952ba7f163c4a11628f55a4df523b3ef")
	transferAddress = common.HexToAddress("0xEeeeeEeeeEeEeeEeEeEeeEEEeeeeEeeeeeeeEEeE")
)

// transfers is a tracer that collects the logs of one transaction after the other and, if it is on,
// those of transfers of ether. What is undone leaves none.
type transfers struct {
	on           bool
	number, time uint64
	hash         common.Hash // of the transaction
	index        int         // of the transaction
	next         uint        // index of the next log in the block
	open         [][]*types.Log
}

func (t *transfers) hooks() *tracing.Hooks {
	return &tracing.Hooks{OnEnter: t.enter, OnExit: t.exit, OnLog: func(l *types.Log) { t.add(l.Address, l.Topics, l.Data) }}
}

// begin begins a transaction.
func (t *transfers) begin(hash common.Hash, index int) { t.hash, t.index, t.open = hash, index, nil }

// collected are the logs of a transaction that has ended.
func (t *transfers) collected() []*types.Log {
	if len(t.open) == 0 || t.open[0] == nil {
		return []*types.Log{}
	}
	return t.open[0]
}

func (t *transfers) enter(_ int, kind byte, from, to common.Address, _ []byte, _ uint64, value *big.Int) {
	t.open = append(t.open, []*types.Log{})
	if op := vm.OpCode(kind); t.on && op != vm.DELEGATECALL && op != vm.CALLCODE && value != nil && value.Sign() > 0 {
		t.add(transferAddress, []common.Hash{transferTopic, common.BytesToHash(from[:]), common.BytesToHash(to[:])}, common.BigToHash(value).Bytes())
	}
}

func (t *transfers) exit(depth int, _ []byte, _ uint64, _ error, undone bool) {
	last := len(t.open) - 1
	if last < 0 || depth > 0 && last == 0 {
		return
	}
	logs := t.open[last]
	if undone {
		t.next -= uint(len(logs))
		logs = nil
	}
	if depth == 0 {
		t.open[last] = logs
		return
	}
	t.open = t.open[:last]
	t.open[last-1] = append(t.open[last-1], logs...)
}

func (t *transfers) add(at common.Address, topics []common.Hash, data []byte) {
	last := len(t.open) - 1
	if last < 0 {
		return
	}
	t.open[last] = append(t.open[last], &types.Log{
		Address: at, Topics: topics, Data: data, BlockNumber: t.number, BlockTimestamp: t.time, TxHash: t.hash, TxIndex: uint(t.index), Index: t.next,
	})
	t.next++
}
