package evm

import (
	"context"
	"fmt"

	"github.com/ethereum/go-ethereum/common"
	"github.com/ethereum/go-ethereum/common/hexutil"
	"github.com/ethereum/go-ethereum/core/types"
	"github.com/ethereum/go-ethereum/crypto"
	"github.com/ethereum/go-ethereum/ethdb/memorydb"
	"github.com/ethereum/go-ethereum/rlp"
	"github.com/ethereum/go-ethereum/rpc"
	"github.com/ethereum/go-ethereum/trie"

	"dyno/services/chain/jsonrpc"
)

// slots are those of an account in the order of their hashes.
type slots struct {
	Storage map[common.Hash]slot `json:"storage"` // by hash; nil: the account has none
	NextKey *common.Hash         `json:"nextKey"` // hash of the one that follows; nil: none does
}

type slot struct {
	Key   *common.Hash `json:"key"` // nil: only its hash is known
	Value common.Hash  `json:"value"`
}

// slotBytes is about what a slot takes in JSON.
const slotBytes = 250

// storageRangeAt lists slots of an account in front of a transaction of a block. As go-ethereum, it shows
// those that the account had before the block.
func (m *methods) storageRangeAt(ctx context.Context, params []byte) (any, error) {
	var at rpc.BlockNumberOrHash
	var index, most int
	var of common.Address
	var start hexutil.Bytes
	if err := jsonrpc.Params(params, 5, &at, &index, &of, &start, &most); err != nil {
		return nil, err
	}
	if number, ok := at.Number(); ok && number == rpc.PendingBlockNumber {
		return nil, errPending
	}
	if index < 0 {
		return nil, jsonrpc.Errorf(jsonrpc.InvalidParams, "the transaction index %d is negative", index)
	}
	ctx, done, err := m.begin(ctx)
	if err != nil {
		return nil, err
	}
	defer done()
	s, before := &scene{}, hexutil.Uint(index)
	if err := m.stage(ctx, s, at, &before); err != nil {
		return nil, err
	}
	root := s.db.GetStorageRoot(of)
	out, err := m.list(ctx, s.original, of, root, start, min(max(most, 0), m.o.MaxTrace/slotBytes))
	if err != nil {
		return nil, fmt.Errorf("the slots of %v cannot be listed: %w", of, err)
	}
	if root == types.EmptyRootHash || root == (common.Hash{}) {
		if len(out.Storage) == 0 {
			out.Storage = nil
		}
	}
	return out, nil
}

// list reads slots of an account before a block, from a hash on.
func (m *methods) list(ctx context.Context, header *types.Header, of common.Address, root common.Hash, start []byte, most int) (*slots, error) {
	db, parent, err := m.node.State(ctx, rpc.BlockNumberOrHashWithNumber(rpc.BlockNumber(header.Number.Int64()-1)))
	if err != nil {
		return nil, err
	}
	top := parent.Root
	if m.node.Impersonated != nil { // a test chain, whose accounts may have been written to since
		top = db.IntermediateRoot(m.chain.Config().Rules(parent.Number, parent.Difficulty.Sign() == 0, parent.Time))
	}
	// A state that has no proofs has no slots in order either.
	accounts, err := db.Database().OpenTrie(top)
	if err == nil {
		err = accounts.Prove(crypto.Keccak256(of[:]), memorydb.New())
	}
	if err != nil {
		return nil, err
	}
	t, err := db.Database().OpenStorageTrie(top, of, root, nil)
	if err != nil {
		return nil, err
	}
	nodes, err := t.NodeIterator(start)
	if err != nil {
		return nil, err
	}
	out, it := &slots{Storage: map[common.Hash]slot{}}, trie.NewIterator(nodes)
	for it.Next() {
		hash := common.BytesToHash(it.Key)
		if len(out.Storage) == most {
			out.NextKey = &hash
			break
		}
		if ctx.Err() != nil {
			return nil, m.aborted(ctx)
		}
		_, value, _, err := rlp.Split(it.Value)
		if err != nil {
			return nil, err
		}
		s := slot{Value: common.BytesToHash(value)}
		if key := t.GetKey(it.Key); key != nil {
			key := common.BytesToHash(key)
			s.Key = &key
		}
		out.Storage[hash] = s
	}
	return out, it.Err
}
