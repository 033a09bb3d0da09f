package testchain

import (
	"cmp"
	"container/heap"
	"math/big"
	"slices"

	"github.com/ethereum/go-ethereum/common"
	"github.com/ethereum/go-ethereum/core/types"
)

// byFees returns transactions in the order in which a block has them: of the senders' next ones the one with
// the highest effective tip, which is what it pays beyond the base fee, and of equal ones the one that came first. The others are those that a block may have.
func (c *Chain) byFees(txs []*types.Transaction, baseFee *big.Int) []*types.Transaction {
	waiting := map[common.Address][]*offer{}
	for i, tx := range txs {
		from := c.sender(tx)
		waiting[from] = append(waiting[from], &offer{tx: tx, tip: tx.EffectiveGasTipValue(baseFee), came: i})
	}
	var next offers
	for _, of := range waiting {
		slices.SortStableFunc(of, func(a, b *offer) int { return cmp.Compare(a.tx.Nonce(), b.tx.Nonce()) })
		for i := range of[1:] {
			of[i].then = of[i+1]
		}
		next = append(next, of[0])
	}
	heap.Init(&next)
	ordered := make([]*types.Transaction, 0, len(txs))
	for len(next) > 0 {
		best := next[0]
		ordered = append(ordered, best.tx)
		if best.then != nil {
			next[0] = best.then
			heap.Fix(&next, 0)
		} else {
			heap.Pop(&next)
		}
	}
	return ordered
}

// offer is a transaction with what it pays.
type offer struct {
	tx   *types.Transaction
	tip  *big.Int // wei for a unit of gas; below 0 where its cap is too low
	came int      // its place in the pool
	then *offer   // of the same sender; nil: it is the last
}

// offers are the next ones of all senders, the best first. They implement heap.Interface.
type offers []*offer

func (o offers) Len() int      { return len(o) }
func (o offers) Swap(i, j int) { o[i], o[j] = o[j], o[i] }
func (o offers) Less(i, j int) bool {
	if c := o[i].tip.Cmp(o[j].tip); c != 0 {
		return c > 0
	}
	return o[i].came < o[j].came
}

// Push implements heap.Interface.
func (o *offers) Push(x any) { *o = append(*o, x.(*offer)) }

// Pop implements heap.Interface.
func (o *offers) Pop() any {
	last := (*o)[len(*o)-1]
	*o = (*o)[:len(*o)-1]
	return last
}
