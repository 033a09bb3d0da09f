// Package filter finds logs by their criteria, keeps the filters of eth_newFilter and its like, and
// serves the subscriptions of eth_subscribe.
//
// Filters and subscriptions read the chain with cursors, from the block that they have seen to the
// head: they miss no block, and a slow one holds no queue. The package is not for the receipts and
// blocks themselves. A subscription has one goroutine, which Wait
// waits for; nothing else starts any.
package filter

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"slices"

	"github.com/ethereum/go-ethereum/common"
	"github.com/ethereum/go-ethereum/common/hexutil"
	"github.com/ethereum/go-ethereum/core/types"
	"github.com/ethereum/go-ethereum/rpc"
)

// Bounds of criteria, as go-ethereum has them.
const (
	maxTopics       = 4 // of a log
	maxAlternatives = 1000
)

// Criteria select logs. The zero value selects those of the head.
type Criteria struct {
	BlockHash          *common.Hash     // of the only block
	FromBlock, ToBlock *rpc.BlockNumber // nil: the head
	Addresses          []common.Address // none: any
	Topics             [][]common.Hash  // alternatives, by position; none: any
}

// UnmarshalJSON reads the parameter of eth_getLogs, eth_newFilter and eth_subscribe.
func (c *Criteria) UnmarshalJSON(text []byte) error {
	var raw struct {
		BlockHash *common.Hash                 `json:"blockHash"`
		FromBlock *rpc.BlockNumber             `json:"fromBlock"`
		ToBlock   *rpc.BlockNumber             `json:"toBlock"`
		Address   alternatives[common.Address] `json:"address"`
		Topics    []alternatives[common.Hash]  `json:"topics"`
	}
	if err := json.Unmarshal(text, &raw); err != nil {
		return err
	}
	switch {
	case raw.BlockHash != nil && (raw.FromBlock != nil || raw.ToBlock != nil):
		return errors.New("cannot specify both BlockHash and FromBlock/ToBlock, choose one or the other")
	case len(raw.Topics) > maxTopics:
		return errors.New("exceed max topics")
	}
	*c = Criteria{BlockHash: raw.BlockHash, FromBlock: raw.FromBlock, ToBlock: raw.ToBlock, Addresses: raw.Address}
	for _, topic := range raw.Topics {
		c.Topics = append(c.Topics, topic)
	}
	return nil
}

// alternatives are one value or an array of them; null, none, or null among them means any value.
type alternatives[T any] []T

func (a *alternatives[T]) UnmarshalJSON(text []byte) error {
	*a = nil
	var values []*T
	if bytes.HasPrefix(text, []byte("[")) {
		if err := json.Unmarshal(text, &values); err != nil {
			return err
		}
	} else {
		values = make([]*T, 1)
		if err := json.Unmarshal(text, &values[0]); err != nil {
			return err
		}
	}
	if len(values) > maxAlternatives {
		return fmt.Errorf("exceed max addresses or topics per search position: %d, and %d are permitted", len(values), maxAlternatives)
	}
	if slices.Contains(values, nil) {
		return nil
	}
	for _, v := range values {
		*a = append(*a, *v)
	}
	return nil
}

// within returns the criteria for blocks, as the parameter of eth_getLogs.
func (c *Criteria) within(from, to uint64) any {
	out := map[string]any{"fromBlock": hexutil.Uint64(from), "toBlock": hexutil.Uint64(to)}
	if len(c.Addresses) > 0 {
		out["address"] = c.Addresses
	}
	if len(c.Topics) > 0 {
		out["topics"] = c.Topics // nil: any
	}
	return out
}

// matches reports whether a log has a selected address and topics, wherever it is.
func (c *Criteria) matches(log *types.Log) bool {
	if len(c.Addresses) > 0 && !slices.Contains(c.Addresses, log.Address) || len(c.Topics) > len(log.Topics) {
		return false
	}
	for i, topic := range c.Topics {
		if len(topic) > 0 && !slices.Contains(topic, log.Topics[i]) {
			return false
		}
	}
	return true
}

// mayMatch reports whether a block or a receipt with a bloom can have a log that matches.
func (c *Criteria) mayMatch(bloom types.Bloom) bool {
	if !contains(bloom, c.Addresses) {
		return false
	}
	for _, topic := range c.Topics {
		if !contains(bloom, topic) {
			return false
		}
	}
	return true
}

// contains reports whether a bloom may contain one of the alternatives.
func contains[T interface{ Bytes() []byte }](bloom types.Bloom, alternatives []T) bool {
	return len(alternatives) == 0 || slices.ContainsFunc(alternatives, func(v T) bool { return bloom.Test(v.Bytes()) })
}
