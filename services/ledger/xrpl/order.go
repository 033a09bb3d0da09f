package xrpl

import (
	"cmp"
	"fmt"
	"slices"
)

// SortByIndex sorts transactions into the order in which the ledger applied them. If two have the
// same position, or one has none, it returns an error and leaves the order unchanged.
func SortByIndex(txs []Transaction) error {
	type placed struct {
		index uint32
		tx    Transaction
	}
	order := make([]placed, len(txs))
	for i, tx := range txs {
		index, err := TransactionIndex(tx.Meta)
		if err != nil {
			return fmt.Errorf("transaction %d of %d: %w", i+1, len(txs), err)
		}
		order[i] = placed{index, tx}
	}
	slices.SortFunc(order, func(a, b placed) int { return cmp.Compare(a.index, b.index) })
	for i := 1; i < len(order); i++ {
		if order[i].index == order[i-1].index {
			return fmt.Errorf("%w: two transactions are at place %d", ErrMalformed, order[i].index)
		}
	}
	for i := range order {
		txs[i] = order[i].tx
	}
	return nil
}
