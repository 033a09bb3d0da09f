// Package testchain is a chain for test suites, in memory and in a journal: blocks are made when a
// transaction comes or when they are asked for, the clock is set, accounts are written to, other
// people's transactions are sent, and all of it is taken back, as with anvil and Hardhat's node.
//
// What changes the chain is a call, with the time at which it came, and in the journal before it is
// answered. When the folder is opened again, the calls are made again, in their order, and give the
// same chain: the one that was answered last, also after a call that took something back.
//
// It is not for a chain that anyone relies on. A Chain owns the goroutine that makes blocks at
// intervals, and that of the journal; Close ends both and waits.
package testchain

import (
	"cmp"
	"context"
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"math/big"
	"os"
	"path/filepath"
	"slices"
	"sync"
	"time"

	"github.com/ethereum/go-ethereum/common"
	"github.com/ethereum/go-ethereum/core/rawdb"
	gethstate "github.com/ethereum/go-ethereum/core/state"
	"github.com/ethereum/go-ethereum/core/types"
	"github.com/ethereum/go-ethereum/params"
	"github.com/ethereum/go-ethereum/triedb"
	"github.com/ethereum/go-ethereum/triedb/hashdb"

	"dyno/parts/wal"
	"dyno/parts/wal/segment"
	"dyno/services/chain/execution"
	"dyno/services/chain/genesis"
	"dyno/services/chain/state"
)

// Folder is where the calls are, in a data folder; it marks the folder as that of a test chain.
const Folder = "test"

// Chain is an open test chain. Its methods may be called from any goroutine.
type Chain struct {
	genesis  *genesis.Genesis
	executor *execution.Executor
	states   *gethstate.MPTDatabase
	log      *wal.Log
	fail     func(error)

	mu     sync.RWMutex // guards what follows
	now    time.Time    // of the call that is being made
	grown  chan struct{}
	blocks []*sealed
	byHash map[common.Hash]uint64
	index  map[common.Hash]place // of transactions
	root   common.Hash           // of the state after the last block and what was written since
	settings
	forNext
	pool      []*types.Transaction // that wait, in the order in which they came
	snapshots []*snapshot
	taken     uint64   // snapshots, ever
	reverts   []uint64 // the last block after each revert and reset, ever
	accepted  []common.Hash
	more      chan struct{}

	started [8]byte       // of this process
	wake    chan struct{} // the interval has changed
	stop    context.CancelFunc
	task    sync.WaitGroup
}

// settings are what calls have set. Only a reset takes them back.
type settings struct {
	manual       bool          // no block for each transaction
	interval     time.Duration // from one block to the next; 0: none are made by the clock
	coinbase     common.Address
	gasLimit     uint64 // 0: as before
	impersonated map[common.Address]bool
	everybody    bool // all accounts are impersonated
}

// forNext are the clock and what calls have set for the next block, which a snapshot brings back.
type forNext struct {
	clock
	baseFee *big.Int // nil: by the rules
	random  *common.Hash
}

// sealed is a block with what was computed of it.
type sealed struct {
	block    *types.Block
	receipts types.Receipts
	root     common.Hash // of the state after it and what was written before the next one
}

type place struct {
	number uint64
	index  uint32
}

// snapshot is what a call to revert brings back.
type snapshot struct {
	id     uint64
	blocks int
	root   common.Hash
	forNext
	pool []*types.Transaction
}

// call is a record of the journal.
type call struct {
	Method string          `json:"m"`
	Params json.RawMessage `json:"p"`
	Time   int64           `json:"t"` // nanoseconds since 1970
}

// Is reports whether a data folder is that of a test chain.
func Is(dir string) bool {
	_, err := os.Stat(filepath.Join(dir, Folder))
	return err == nil
}

// Options are how a test chain is opened.
type Options struct {
	Log  *slog.Logger
	Fail func(error) // receives the error after which the chain must be opened again
	// Still has no blocks made at intervals: for a look at the chain as it is.
	Still bool
}

// Open opens the test chain in a data folder, and begins it if there is none.
func Open(ctx context.Context, dir string, g *genesis.Genesis, o Options) (*Chain, error) {
	files, err := segment.Open(filepath.Join(dir, Folder), segment.Options{Log: o.Log})
	if err != nil {
		return nil, err
	}
	c := &Chain{fail: o.Fail, log: wal.New(files, wal.Options{Commit: wal.Group}), wake: make(chan struct{}, 1)}
	if _, err = rand.Read(c.started[:]); err == nil {
		err = c.adopt(g)
	}
	if err == nil {
		err = c.begin()
	}
	if err == nil {
		err = c.replay(ctx)
	}
	if err != nil {
		return nil, errors.Join(fmt.Errorf("the test chain in %s: %w", dir, err), c.log.Close())
	}
	ctx, c.stop = context.WithCancel(context.Background())
	if !o.Still {
		c.task.Go(func() { c.tick(ctx) })
	}
	return c, nil
}

// begun is the record of the genesis, the first of the journal.
const begun = "genesis"

// adopt makes the genesis that of the journal; a new one begins with g, or that of test chains.
func (c *Chain) adopt(g *genesis.Genesis) error {
	first, next := c.log.Bounds()
	if first == next {
		c.genesis = cmp.Or(g, genesis.Test(uint64(time.Now().Unix())))
		c.executor = execution.New(c.genesis)
		return errors.Join(c.note(call{Method: begun, Params: c.genesis.JSON()}), c.log.Sync())
	}
	err := c.log.Scan(first, func(_ uint64, text []byte) error {
		var r call
		err := json.Unmarshal(text, &r)
		if err == nil && r.Method != begun {
			err = errors.New("the journal does not begin with the genesis")
		}
		if err == nil {
			c.genesis, err = genesis.Parse(r.Params)
		}
		return cmp.Or(err, wal.ErrStop)
	})
	if err != nil {
		return err
	}
	c.executor = execution.New(c.genesis)
	if g == nil {
		return nil
	}
	same, err := c.genesis.Same(g)
	if err == nil && !same {
		err = errors.New("it has another genesis; choose another folder with --data")
	}
	return err
}

// Genesis is what the chain began with.
func (c *Chain) Genesis() *genesis.Genesis { return c.genesis }

// begin makes block 0.
func (c *Chain) begin() error {
	disk := rawdb.NewMemoryDatabase()
	c.states = gethstate.NewMPTDatabase(triedb.NewDatabase(disk, &triedb.Config{Preimages: true, HashDB: hashdb.Defaults}), gethstate.NewCodeDB(disk))
	block := c.genesis.Block()
	c.blocks, c.byHash, c.index = nil, map[common.Hash]uint64{}, map[common.Hash]place{}
	c.settings, c.forNext = settings{impersonated: map[common.Address]bool{}}, forNext{}
	c.clock.last = block.Time()
	c.pool, c.snapshots, c.accepted = nil, nil, nil
	if c.grown == nil { // otherwise there are those who wait
		c.grown, c.more = make(chan struct{}), make(chan struct{})
	}
	db, err := gethstate.New(types.EmptyRootHash, c.states)
	if err != nil {
		return err
	}
	if err := state.Fill(db, c.genesis.Alloc); err != nil {
		return err
	}
	if c.root, err = db.Commit(params.Rules{}, 0); err != nil {
		return err
	}
	c.append(block, nil)
	return nil
}

// append makes a block the last one. Its state is c.root.
func (c *Chain) append(block *types.Block, receipts types.Receipts) {
	n := block.NumberU64()
	c.blocks = append(c.blocks, &sealed{block, receipts, c.root})
	c.byHash[block.Hash()] = n
	for i, tx := range block.Transactions() {
		c.index[tx.Hash()] = place{n, uint32(i)}
	}
	close(c.grown)
	c.grown = make(chan struct{})
}

// truncate takes back the blocks from a number on.
func (c *Chain) truncate(count int) {
	for _, s := range c.blocks[count:] {
		delete(c.byHash, s.block.Hash())
		for _, tx := range s.block.Transactions() {
			delete(c.index, tx.Hash())
		}
	}
	clear(c.blocks[count:])
	c.blocks = c.blocks[:count]
}

// replay makes the calls of the journal again.
func (c *Chain) replay(ctx context.Context) error {
	first, _ := c.log.Bounds()
	return c.log.Scan(first, func(number uint64, text []byte) error {
		if err := ctx.Err(); err != nil {
			return err
		}
		var r call
		if err := json.Unmarshal(text, &r); err != nil {
			return fmt.Errorf("record %d of the journal is no call: %w", number, err)
		}
		if r.Method == begun {
			return nil
		}
		run := calls[r.Method]
		if run == nil {
			return fmt.Errorf("record %d of the journal is a call of %q, which this version does not know", number, r.Method)
		}
		c.now = time.Unix(0, r.Time)
		if _, err := run(c, r.Params); err != nil {
			return fmt.Errorf("record %d of the journal, %s, fails now: %w", number, r.Method, err)
		}
		return nil
	})
}

// do makes a call that changes the chain, and shows and answers what it did when that is in the
// journal. A call that fails changes nothing.
func (c *Chain) do(method string, params json.RawMessage) (any, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	ended := false
	defer func() {
		if !ended { // a panic: what was changed is not known
			c.fail(fmt.Errorf("the call %s of the test chain panicked; start again", method))
		}
	}()
	c.now = time.Now()
	undo := c.savepoint()
	result, err := calls[method](c, params)
	if err != nil {
		undo()
	} else if err = c.note(call{method, params, c.now.UnixNano()}); err == nil {
		if err = c.log.Sync(); err != nil {
			c.fail(err)
			err = errors.New("the node cannot write to its disk")
		}
	}
	ended = true
	if err != nil {
		return nil, err
	}
	return result, nil
}

// savepoint returns what takes a call back that has failed. Such a call only adds blocks.
func (c *Chain) savepoint() (undo func()) {
	blocks, root, set, next := len(c.blocks), c.root, c.settings, c.forNext
	last, pool, accepted := c.blocks[blocks-1].root, slices.Clone(c.pool), len(c.accepted)
	return func() {
		c.truncate(blocks)
		c.blocks[blocks-1].root = last
		c.root, c.settings, c.forNext, c.pool, c.accepted = root, set, next, pool, c.accepted[:accepted]
	}
}

func (c *Chain) note(r call) error {
	text, err := json.Marshal(r)
	if err == nil {
		err = c.log.AppendAsync([][]byte{text}, nil)
	}
	if err != nil {
		c.fail(err)
	}
	return err
}

// tick makes blocks at the interval.
func (c *Chain) tick(ctx context.Context) {
	for {
		c.mu.RLock()
		interval := c.interval
		c.mu.RUnlock()
		var due <-chan time.Time
		if interval > 0 {
			timer := time.NewTimer(interval)
			due = timer.C
		}
		select {
		case <-due:
			_, _ = c.do("evm_mine", json.RawMessage("[]")) // the next one may succeed, after another call
		case <-c.wake:
		case <-ctx.Done():
			return
		}
	}
}

// Close ends the chain. Opened again, it is the same.
func (c *Chain) Close() error {
	c.stop()
	c.task.Wait()
	return c.log.Close()
}
