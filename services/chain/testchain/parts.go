package testchain

import (
	"bytes"
	"errors"
	"fmt"

	"github.com/ethereum/go-ethereum/common"
	"github.com/ethereum/go-ethereum/core/rawdb"
	"github.com/ethereum/go-ethereum/core/types"
	"github.com/ethereum/go-ethereum/crypto"
	"github.com/ethereum/go-ethereum/rlp"
	"github.com/ethereum/go-ethereum/trie"

	"dyno/parts/wal"
)

// The first byte of a checkpoint's part. Calls begin with that of a JSON object.
const (
	blockPart    = 'b'
	nodePart     = 'n' // of a trie
	codePart     = 'c'
	preimagePart = 'p' // of an address or a slot, of which tries have the hash
)

func isPart(record []byte) bool { return len(record) > 0 && record[0] != '{' }

// partBatch is the bytes of parts that are written together.
const partBatch = 4 << 20

// blockRecord is a block in a checkpoint.
type blockRecord struct {
	Block    *types.Block
	Receipts []*types.ReceiptForStorage
	Root     common.Hash
}

// writer writes the parts of a checkpoint, and copies states.
type writer struct {
	log      *wal.Log
	from, to *states
	seen     map[common.Hash]bool // nodes and codes that were copied

	batch [][]byte
	bytes int
}

func (w *writer) add(kind byte, content []byte) error {
	w.batch = append(w.batch, append([]byte{kind}, content...))
	if w.bytes += len(content); w.bytes < partBatch {
		return nil
	}
	return w.flush()
}

func (w *writer) flush() error {
	if len(w.batch) == 0 {
		return nil
	}
	_, err := w.log.Append(w.batch, nil)
	w.batch, w.bytes = nil, 0
	return err
}

func (w *writer) block(s *sealed) error {
	r := blockRecord{Block: s.block, Root: s.root}
	for _, receipt := range s.receipts {
		r.Receipts = append(r.Receipts, (*types.ReceiptForStorage)(receipt))
	}
	content, err := rlp.EncodeToBytes(&r)
	if err != nil {
		return err
	}
	return w.add(blockPart, content)
}

// state copies what a state has beyond those that were copied before.
func (w *writer) state(root common.Hash) error {
	return w.trie(trie.StateTrieID(root), func(key common.Hash, value []byte) error {
		var account types.StateAccount
		if err := rlp.DecodeBytes(value, &account); err != nil {
			return err
		}
		if hash := common.BytesToHash(account.CodeHash); hash != types.EmptyCodeHash && !w.seen[hash] {
			w.seen[hash] = true
			code := rawdb.ReadCode(w.from.disk, hash)
			rawdb.WriteCode(w.to.disk, hash, code)
			if err := w.add(codePart, code); err != nil {
				return err
			}
		}
		return w.trie(trie.StorageTrieID(root, key, account.Root), func(common.Hash, []byte) error { return nil })
	})
}

// trie copies the nodes of a trie that were not, and calls visit for the values below them.
func (w *writer) trie(id *trie.ID, visit func(key common.Hash, value []byte) error) error {
	if id.Root == types.EmptyRootHash || w.seen[id.Root] {
		return nil
	}
	t, err := trie.New(id, w.from.tries)
	if err != nil {
		return err
	}
	nodes, err := t.NodeIterator(nil)
	if err != nil {
		return err
	}
	for descend := true; nodes.Next(descend); {
		if nodes.Leaf() {
			key := common.BytesToHash(nodes.LeafKey())
			if err := errors.Join(w.preimage(key), visit(key, nodes.LeafBlob())); err != nil {
				return err
			}
		}
		hash := nodes.Hash()
		descend = !w.seen[hash]
		if hash == (common.Hash{}) || !descend {
			continue
		}
		w.seen[hash] = true
		blob := bytes.Clone(nodes.NodeBlob())
		rawdb.WriteLegacyTrieNode(w.to.disk, hash, blob)
		if err := w.add(nodePart, blob); err != nil {
			return err
		}
	}
	return nodes.Error()
}

func (w *writer) preimage(of common.Hash) error {
	if w.seen[of] {
		return nil
	}
	w.seen[of] = true
	preimage := w.from.tries.Preimage(of)
	if preimage == nil {
		return nil
	}
	rawdb.WritePreimages(w.to.disk, map[common.Hash][]byte{of: preimage})
	return w.add(preimagePart, preimage)
}

// parts are what was read of a checkpoint.
type parts struct {
	states *states
	blocks []*sealed
}

func newParts() *parts { return &parts{states: newStates()} }

func (p *parts) add(record []byte) error {
	kind, content := record[0], bytes.Clone(record[1:])
	switch hash := crypto.Keccak256Hash(content); kind {
	case nodePart:
		rawdb.WriteLegacyTrieNode(p.states.disk, hash, content)
	case codePart:
		rawdb.WriteCode(p.states.disk, hash, content)
	case preimagePart:
		rawdb.WritePreimages(p.states.disk, map[common.Hash][]byte{hash: content})
	case blockPart:
		return p.addBlock(content)
	default:
		return fmt.Errorf("a part of a checkpoint has the kind %q, which this version does not know", kind)
	}
	return nil
}

func (p *parts) addBlock(content []byte) error {
	var r blockRecord
	if err := rlp.DecodeBytes(content, &r); err != nil {
		return err
	}
	txs := r.Block.Transactions()
	if len(txs) != len(r.Receipts) {
		return fmt.Errorf("block %v has %d transactions and %d receipts", r.Block.Number(), len(txs), len(r.Receipts))
	}
	s, index := &sealed{block: r.Block, root: r.Root}, uint(0)
	for i, stored := range r.Receipts {
		receipt := (*types.Receipt)(stored)
		for _, log := range receipt.Logs {
			log.BlockNumber, log.BlockTimestamp, log.TxHash, log.TxIndex, log.Index = r.Block.NumberU64(), r.Block.Time(), txs[i].Hash(), uint(i), index
			index++
		}
		s.receipts = append(s.receipts, receipt)
	}
	p.blocks = append(p.blocks, s)
	return nil
}
