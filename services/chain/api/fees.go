package api

import (
	"context"
	"errors"
	"fmt"
	"math/big"
	"slices"
	"sync"

	"github.com/ethereum/go-ethereum/common"
	"github.com/ethereum/go-ethereum/common/hexutil"
	"github.com/ethereum/go-ethereum/common/math"
	"github.com/ethereum/go-ethereum/consensus/misc/eip4844"
	"github.com/ethereum/go-ethereum/core/types"
	"github.com/ethereum/go-ethereum/rpc"

	"dyno/services/chain/jsonrpc"
	"dyno/services/chain/store"
)

// Bounds of eth_feeHistory, go-ethereum's.
const (
	mostHistory     = 1024 // blocks; more are cut off
	mostPercentiles = 100
)

// The suggested tip, by go-ethereum's rule: of the three lowest tips of each of the last 20 blocks
// the 60th percentile, within bounds.
const (
	tipBlocks     = 20
	tipsOfBlock   = 3
	tipPercentile = 60
)

var (
	leastTip = big.NewInt(1_000_000)       // wei
	mostTip  = big.NewInt(500_000_000_000) // wei
)

// Tips suggests tips. It remembers the last suggestion, and may be used from any goroutine.
type Tips struct {
	b Backend

	mu   sync.Mutex
	head common.Hash // block for which last holds
	last *big.Int
}

// NewTips returns what suggests the tips of a chain.
func NewTips(b Backend) *Tips { return &Tips{b: b} }

// Suggest returns a tip, in wei for a unit of gas. It is 0 where gas is free.
func (t *Tips) Suggest() (*big.Int, error) {
	if t.b.Genesis.Rules.ZeroBaseFee {
		return new(big.Int), nil
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	header := t.b.States.Head()
	hash := header.Hash() // a test chain may have another block of the same number
	if t.last != nil && t.head == hash {
		return t.last, nil
	}
	var seen []*big.Int
	head, oldest := header.Number.Uint64(), uint64(0)
	if t.b.Impersonated != nil { // a test chain, and on a fork the blocks before are another node's
		oldest, _ = t.b.States.Kept()
	}
	for n := head; n > 0 && n >= oldest && head-n < tipBlocks; n-- {
		s, err := t.b.Sealed(n)
		if err != nil {
			return nil, err
		}
		seen = append(seen, lowest(s.Block)...)
	}
	tip := leastTip
	if len(seen) > 0 {
		slices.SortFunc(seen, (*big.Int).Cmp)
		tip = seen[(len(seen)-1)*tipPercentile/100]
	}
	t.head, t.last = hash, clamp(tip, leastTip, mostTip)
	return t.last, nil
}

func clamp(n, least, most *big.Int) *big.Int {
	if n.Cmp(least) < 0 {
		return least
	}
	if n.Cmp(most) > 0 {
		return most
	}
	return n
}

// lowest returns the lowest tips of a block's transactions.
func lowest(b *types.Block) (low []*big.Int) {
	for _, tx := range b.Transactions() {
		tip, _ := tx.EffectiveGasTip(b.BaseFee()) // it was executed: the fee was high enough
		at, _ := slices.BinarySearchFunc(low, tip, (*big.Int).Cmp)
		if at < tipsOfBlock {
			low = slices.Insert(low, at, tip)
			low = low[:min(len(low), tipsOfBlock)]
		}
	}
	return low
}

func (m methods) maxPriorityFeePerGas() (any, error) {
	tip, err := m.tips.Suggest()
	return (*hexutil.Big)(tip), err
}

func (m methods) gasPrice() (any, error) {
	tip, err := m.tips.Suggest()
	if base := m.States.Head().BaseFee; err == nil && base != nil {
		tip = new(big.Int).Add(tip, base)
	}
	return (*hexutil.Big)(tip), err
}

// history is the answer of eth_feeHistory. The fees have a member more, that of the next block.
type history struct {
	OldestBlock      *hexutil.Big     `json:"oldestBlock"`
	Reward           [][]*hexutil.Big `json:"reward,omitempty"`
	BaseFee          []*hexutil.Big   `json:"baseFeePerGas,omitempty"`
	GasUsedRatio     []float64        `json:"gasUsedRatio"`
	BlobBaseFee      []*hexutil.Big   `json:"baseFeePerBlobGas,omitempty"`
	BlobGasUsedRatio []float64        `json:"blobGasUsedRatio,omitempty"`
}

func (m methods) feeHistory(ctx context.Context, params []byte) (any, error) {
	var count math.HexOrDecimal64
	var last rpc.BlockNumber
	var percentiles []float64
	m.Backend = m.For(ctx)
	if err := jsonrpc.Params(params, 2, &count, &last, &percentiles); err != nil {
		return nil, err
	}
	out := &history{OldestBlock: new(hexutil.Big)}
	if count == 0 {
		return out, nil
	}
	if err := checkPercentiles(percentiles); err != nil {
		return nil, err
	}
	head, end := m.States.Head().Number.Uint64(), m.NumberOf(last)
	next, err := m.next(ctx, last)
	if err != nil {
		return nil, err
	}
	if next != nil {
		head, end = next.NumberU64(), next.NumberU64()
	}
	if end > head {
		return nil, fmt.Errorf("request beyond head block: requested %d, head %d", end, head)
	}
	oldest := end + 1 - min(uint64(count), mostHistory, end+1)
	out.OldestBlock = (*hexutil.Big)(new(big.Int).SetUint64(oldest))
	for n := oldest; n <= end; n++ {
		if err := ctx.Err(); err != nil {
			return nil, err
		}
		var s *Sealed // nil: a sealed block
		if n == end {
			s = next
		}
		if err := m.addHistory(out, n, s, percentiles); err != nil {
			return nil, err
		}
	}
	return out, nil
}

// next returns the block that would be sealed next, if pending means one here; nil: a sealed one is meant.
func (m methods) next(ctx context.Context, last rpc.BlockNumber) (*Sealed, error) {
	if last != rpc.PendingBlockNumber {
		return nil, nil
	}
	s, err := m.Find(ctx, rpc.BlockNumberOrHashWithNumber(last))
	if s != nil && !s.Pending {
		s = nil
	}
	return s, err
}

func checkPercentiles(percentiles []float64) error {
	if len(percentiles) > mostPercentiles {
		return fmt.Errorf("invalid reward percentile: over the query limit %d", mostPercentiles)
	}
	for i, p := range percentiles {
		if p < 0 || p > 100 {
			return fmt.Errorf("invalid reward percentile: %f", p)
		}
		if i > 0 && p <= percentiles[i-1] {
			return fmt.Errorf("invalid reward percentile: #%d:%f >= #%d:%f", i-1, percentiles[i-1], i, p)
		}
	}
	return nil
}

// addHistory adds a block, and the fees of the next one in the place after it. Next is the block if it is
// not sealed.
func (m methods) addHistory(out *history, number uint64, next *Sealed, percentiles []float64) error {
	var header *types.Header
	var err error
	if next != nil {
		header = next.Header()
	} else if header, err = m.Blocks.Header(number); err != nil {
		return err
	}
	if len(percentiles) > 0 {
		if next == nil {
			next, err = m.Sealed(number)
		}
		switch {
		case errors.Is(err, store.ErrHeaderAlone): // of another node, as if it had no transactions
			next = &Sealed{Block: types.NewBlockWithHeader(header), Receipts: func() (types.Receipts, error) { return nil, nil }}
		case err != nil:
			return err
		}
		tips, err := rewards(next, percentiles)
		if err != nil {
			return err
		}
		out.Reward = append(out.Reward, tips)
	}
	config := m.Genesis.Config
	out.GasUsedRatio = append(out.GasUsedRatio, float64(header.GasUsed)/float64(header.GasLimit))
	base, after := new(big.Int), new(big.Int)
	if header.BaseFee != nil {
		base = header.BaseFee
	}
	if header.BaseFee != nil || !config.IsLondon(header.Number) { // a fork has headers of other rules
		if fee := m.executor.NextBaseFee(header); fee != nil {
			after = fee
		}
	}
	out.BaseFee = append(out.BaseFee[:max(len(out.BaseFee)-1, 0)], (*hexutil.Big)(base), (*hexutil.Big)(after))
	blob, nextBlob, ratio := new(big.Int), new(big.Int), 0.0
	if header.ExcessBlobGas != nil {
		excess := eip4844.CalcExcessBlobGas(config, header, header.Time)
		blob = eip4844.CalcBlobFee(config, header)
		nextBlob = eip4844.CalcBlobFee(config, &types.Header{Number: header.Number, Time: header.Time, ExcessBlobGas: &excess})
	}
	if most := eip4844.MaxBlobGasPerBlock(config, header.Time); header.BlobGasUsed != nil && most > 0 {
		ratio = float64(*header.BlobGasUsed) / float64(most)
	}
	out.BlobBaseFee = append(out.BlobBaseFee[:max(len(out.BlobBaseFee)-1, 0)], (*hexutil.Big)(blob), (*hexutil.Big)(nextBlob))
	out.BlobGasUsedRatio = append(out.BlobGasUsedRatio, ratio)
	return nil
}

// rewards returns the tips at percentiles of the gas that a block used, by ascending tips.
func rewards(s *Sealed, percentiles []float64) ([]*hexutil.Big, error) {
	receipts, err := s.Receipts()
	if err != nil {
		return nil, err
	}
	if len(receipts) != len(s.Transactions()) {
		return nil, errors.New("the block has other receipts")
	}
	type paid struct {
		gas uint64
		tip *big.Int
	}
	all := make([]paid, len(receipts))
	for i, tx := range s.Transactions() {
		all[i].gas = receipts[i].GasUsed
		all[i].tip, _ = tx.EffectiveGasTip(s.BaseFee()) // it was executed: the fee was high enough
	}
	slices.SortStableFunc(all, func(a, b paid) int { return a.tip.Cmp(b.tip) })
	tips := make([]*hexutil.Big, len(percentiles))
	at, sum := 0, uint64(0)
	for i, p := range percentiles {
		if len(all) == 0 {
			tips[i] = new(hexutil.Big)
			continue
		}
		for at < len(all)-1 && sum+all[at].gas < uint64(float64(s.GasUsed())*p/100) {
			sum += all[at].gas
			at++
		}
		tips[i] = (*hexutil.Big)(all[at].tip)
	}
	return tips, nil
}
