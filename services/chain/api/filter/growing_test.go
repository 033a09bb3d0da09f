package filter_test

import (
	"math/big"
	"sync"
	"testing"

	"github.com/ethereum/go-ethereum/common"
	"github.com/ethereum/go-ethereum/core"
	"github.com/ethereum/go-ethereum/core/state"
	"github.com/ethereum/go-ethereum/core/types"
	"github.com/ethereum/go-ethereum/params"
	"github.com/ethereum/go-ethereum/trie"
	"go.uber.org/goleak"

	"dyno/services/chain/api"
	"dyno/services/chain/genesis"
	"dyno/services/chain/node"
	"dyno/services/chain/store"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// growing is a chain that a test lets grow. It implements all of a backend.
type growing struct {
	api.Pool

	mu       sync.Mutex
	blocks   []*types.Block
	receipts []types.Receipts
	grown    chan struct{}

	accepted []common.Hash // since the start
	forgot   int           // of them, which a follower cannot ask for
	more     chan struct{}
	most     int // hashes that a follower has taken at a time
	waiting  map[common.Hash]*types.Transaction
}

func newGrowing() (*growing, api.Backend) {
	g := &growing{grown: make(chan struct{}), more: make(chan struct{}), waiting: map[common.Hash]*types.Transaction{}}
	g.grow()
	return g, api.Backend{Genesis: &genesis.Genesis{Genesis: &core.Genesis{Config: params.MergedTestChainConfig}}, Blocks: g, States: g, Pool: g, Feed: g}
}

// grow adds a block of one transaction with logs.
func (g *growing) grow(logs ...*types.Log) *types.Block {
	g.mu.Lock()
	defer g.mu.Unlock()
	tx := types.NewTx(&types.LegacyTx{Nonce: uint64(len(g.blocks)), To: &common.Address{}})
	receipt := &types.Receipt{Logs: logs}
	receipt.Bloom = types.CreateBloom(receipt)
	header := &types.Header{Number: big.NewInt(int64(len(g.blocks))), Difficulty: new(big.Int), BaseFee: new(big.Int)}
	block := types.NewBlock(header, &types.Body{Transactions: types.Transactions{tx}}, types.Receipts{receipt}, trie.NewStackTrie(nil))
	g.blocks, g.receipts = append(g.blocks, block), append(g.receipts, types.Receipts{receipt})
	close(g.grown)
	g.grown = make(chan struct{})
	return block
}

// accept adds an accepted transaction.
func (g *growing) accept(nonce uint64) common.Hash { return g.acceptAll(1, nonce)[0] }

// acceptAll adds several accepted transactions, whose nonces begin with the given one.
func (g *growing) acceptAll(n int, nonce uint64) []common.Hash {
	g.mu.Lock()
	defer g.mu.Unlock()
	begin := len(g.accepted)
	for i := range n {
		tx := types.NewTx(&types.LegacyTx{Nonce: nonce + uint64(i), To: &common.Address{1}})
		g.accepted, g.waiting[tx.Hash()] = append(g.accepted, tx.Hash()), tx
	}
	close(g.more)
	g.more = make(chan struct{})
	return g.accepted[begin:]
}

func (g *growing) Block(n uint64) (*types.Block, error) {
	g.mu.Lock()
	defer g.mu.Unlock()
	if n >= uint64(len(g.blocks)) {
		return nil, store.ErrNotFound
	}
	return g.blocks[n], nil
}

func (g *growing) Header(n uint64) (*types.Header, error) {
	block, err := g.Block(n)
	if err != nil {
		return nil, err
	}
	return block.Header(), nil
}

func (g *growing) Receipts(n uint64) (types.Receipts, error) {
	g.mu.Lock()
	defer g.mu.Unlock()
	return store.Clone(g.receipts[n]), nil
}

func (*growing) Kept() (oldest, window uint64) { return 0, 128 }

func (g *growing) Head() *types.Header {
	g.mu.Lock()
	defer g.mu.Unlock()
	return g.blocks[len(g.blocks)-1].Header()
}

func (g *growing) RawBlock(uint64) ([]byte, error)                 { return nil, store.ErrNotFound }
func (g *growing) Number(common.Hash) (uint64, error)              { return 0, store.ErrNotFound }
func (g *growing) Transaction(common.Hash) (uint64, uint32, error) { return 0, 0, store.ErrNotFound }
func (g *growing) StateAt(*types.Header) (*state.StateDB, error)   { return nil, store.ErrNotFound }

func (g *growing) Waiting(hash common.Hash) *types.Transaction {
	g.mu.Lock()
	defer g.mu.Unlock()
	return g.waiting[hash]
}

func (g *growing) Grown(n uint64) <-chan struct{} {
	g.mu.Lock()
	defer g.mu.Unlock()
	if uint64(len(g.blocks)) > n+1 {
		past := make(chan struct{})
		close(past)
		return past
	}
	return g.grown
}

func (g *growing) Accepted(from uint64, most int) node.Accepted {
	g.mu.Lock()
	defer g.mu.Unlock()
	from = max(min(from, uint64(len(g.accepted))), uint64(g.forgot))
	a := node.Accepted{From: from, Hashes: g.accepted[from:], More: g.more}
	if g.most = max(g.most, min(most, len(a.Hashes))); len(a.Hashes) > most {
		past := make(chan struct{})
		close(past)
		a.Hashes, a.More = a.Hashes[:most], past
	}
	return a
}
