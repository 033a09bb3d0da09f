package testchain

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"iter"

	"github.com/ethereum/go-ethereum/common"
	"github.com/ethereum/go-ethereum/common/hexutil"
	"github.com/ethereum/go-ethereum/core/rawdb"
	"github.com/ethereum/go-ethereum/core/types"
	"github.com/ethereum/go-ethereum/crypto"
	"github.com/ethereum/go-ethereum/rlp"
	"github.com/ethereum/go-ethereum/trie"

	"dyno/services/chain/execution"
)

// The first byte of a checkpoint's part. Calls begin with that of a JSON object.
const (
	blockPart    = 'b'
	nodePart     = 'n' // of a trie
	codePart     = 'c'
	preimagePart = 'p' // of an address or a slot, of which tries have the hash
	txPart       = 't' // a transaction that waits, now or in snapshots, which have its hash
	snapshotPart = 's' // after the transactions of its pool
	readPart     = 'r' // what was read of the node that was forked
)

func isPart(record []byte) bool { return len(record) > 0 && record[0] != '{' }

// partBatch is the bytes of records that are written together, beside the last of them.
const partBatch = 4 << 20

// largestRecord bounds a record of a checkpoint, in bytes: the log takes 32 MiB together. Tests lower it.
var largestRecord = 24 << 20

// batches are the records that are written together.
func batches(records [][]byte) iter.Seq[[][]byte] {
	return func(yield func([][]byte) bool) {
		for len(records) > 0 {
			n := 0
			for size := 0; n < len(records) && size < partBatch; n++ {
				size += len(records[n])
			}
			if !yield(records[:n]) {
				return
			}
			records = records[n:]
		}
	}
}

// blockRecord is a block in a checkpoint.
type blockRecord struct {
	Block    *types.Block
	Receipts []*types.ReceiptForStorage
	Root     common.Hash
}

// encoder makes the records of a checkpoint.
type encoder struct {
	states  *states
	seen    map[common.Hash]bool // nodes, codes, preimages and transactions that are in the records
	records [][]byte
}

func (e *encoder) part(kind byte, content []byte) error {
	return e.record(append([]byte{kind}, content...))
}

func (e *encoder) record(text []byte) error {
	if len(text) > largestRecord {
		return fmt.Errorf("a record of %d bytes (%.20q) is too large for the journal: it takes %d bytes", len(text), text, largestRecord)
	}
	e.records = append(e.records, text)
	return nil
}

// pool returns the hashes of transactions that wait, which are parts.
func (e *encoder) pool(txs []*types.Transaction) ([]common.Hash, error) {
	hashes := make([]common.Hash, len(txs))
	for i, tx := range txs {
		hash := tx.Hash()
		if hashes[i] = hash; e.seen[hash] {
			continue
		}
		e.seen[hash] = true
		raw, err := tx.MarshalBinary()
		if err == nil {
			err = e.part(txPart, raw)
		}
		if err != nil {
			return nil, err
		}
	}
	return hashes, nil
}

// origin returns where the origin of a fork is, of which parts have what was read.
func (e *encoder) origin(o *origin) (*forkPoint, error) {
	o.mu.Lock()
	defer o.mu.Unlock()
	for _, r := range o.reads {
		text, err := json.Marshal(r)
		if err == nil {
			err = e.part(readPart, text)
		}
		if err != nil {
			return nil, err
		}
	}
	return &forkPoint{ID: o.id, URL: o.from.url, ChainID: hexutil.Uint64(o.chain)}, nil
}

func (e *encoder) snapshot(s *snapshot) error {
	pool, err := e.pool(s.pool)
	if err != nil {
		return err
	}
	text, err := json.Marshal(&keptSnapshot{s.id, s.blocks, s.root, s.forNext.kept(), pool})
	if err != nil {
		return err
	}
	return e.part(snapshotPart, text)
}

func (e *encoder) block(s *sealed) error {
	r := blockRecord{Block: s.block, Root: s.root}
	for _, receipt := range s.receipts {
		r.Receipts = append(r.Receipts, (*types.ReceiptForStorage)(receipt))
	}
	content, err := rlp.EncodeToBytes(&r)
	if err != nil {
		return err
	}
	return e.part(blockPart, content)
}

// state adds what a state has beyond those before.
func (e *encoder) state(root common.Hash) error {
	return e.trie(trie.StateTrieID(root), func(key common.Hash, value []byte) error {
		var account types.StateAccount
		if err := rlp.DecodeBytes(value, &account); err != nil {
			return err
		}
		if hash := common.BytesToHash(account.CodeHash); hash != types.EmptyCodeHash && !e.seen[hash] {
			e.seen[hash] = true
			if err := e.part(codePart, rawdb.ReadCode(e.states.disk, hash)); err != nil {
				return err
			}
		}
		return e.trie(trie.StorageTrieID(root, key, account.Root), func(common.Hash, []byte) error { return nil })
	})
}

// trie adds the nodes of a trie that are not there, and calls visit for the values below them.
func (e *encoder) trie(id *trie.ID, visit func(key common.Hash, value []byte) error) error {
	if id.Root == types.EmptyRootHash || e.seen[id.Root] {
		return nil
	}
	t, err := trie.New(id, e.states.tries)
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
			if err := errors.Join(e.preimage(key), visit(key, nodes.LeafBlob())); err != nil {
				return err
			}
		}
		hash := nodes.Hash()
		descend = !e.seen[hash]
		if hash == (common.Hash{}) || !descend {
			continue
		}
		e.seen[hash] = true
		if err := e.part(nodePart, nodes.NodeBlob()); err != nil {
			return err
		}
	}
	return nodes.Error()
}

func (e *encoder) preimage(of common.Hash) error {
	if e.seen[of] {
		return nil
	}
	e.seen[of] = true
	preimage := e.states.tries.Preimage(of)
	if preimage == nil {
		return nil
	}
	return e.part(preimagePart, preimage)
}

// parts are what was read of a checkpoint.
type parts struct {
	states    *states
	blocks    []*sealed
	txs       map[common.Hash]*types.Transaction
	snapshots []*snapshot
	reads     []*read
}

func newParts() *parts {
	return &parts{states: newStates(), txs: map[common.Hash]*types.Transaction{}}
}

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
	case snapshotPart:
		return p.addSnapshot(content)
	case readPart:
		r := new(read)
		p.reads = append(p.reads, r)
		return json.Unmarshal(content, r)
	case txPart:
		tx, err := execution.DecodeTransaction(content)
		if err != nil {
			return err
		}
		p.txs[tx.Hash()] = tx
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

func (p *parts) addSnapshot(content []byte) error {
	var k keptSnapshot
	if err := json.Unmarshal(content, &k); err != nil {
		return err
	}
	pool, err := p.pool(k.Pool)
	p.snapshots = append(p.snapshots, &snapshot{k.ID, k.Blocks, k.Root, k.Next.next(), pool})
	return err
}

// pool returns the transactions that have hashes.
func (p *parts) pool(hashes []common.Hash) (txs []*types.Transaction, err error) {
	for _, hash := range hashes {
		tx := p.txs[hash]
		if tx == nil {
			return nil, fmt.Errorf("the transaction %v is not in the checkpoint", hash)
		}
		txs = append(txs, tx)
	}
	return txs, nil
}
