// Package testchain is a chain for test suites, in memory and in a journal: blocks are made when a
// transaction comes or when they are asked for, the clock is set, accounts are written to, other
// people's transactions are sent, and all of it is taken back, as with anvil and Hardhat's node.
//
// What changes the chain is a call, with the time at which it came, and in the journal before it is
// answered. When the folder is opened again, the calls are made again, in their order, and give the
// same chain: the one that was answered last, also after a call that took something back. Where there
// are many, the journal begins again with the chain as it is: when it is opened or closed, never
// within a call.
//
// A chain can be a fork of another node's: what was not written since is read of that node when it is
// needed, and what was read is in the journal, too.
//
// It is not for a chain that anyone relies on. A Chain owns the goroutine that makes blocks at
// intervals, and that of the journal; Close ends both and waits.
package testchain

import (
	"bytes"
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
	"sync"
	"sync/atomic"
	"time"

	"github.com/ethereum/go-ethereum/common"
	gethstate "github.com/ethereum/go-ethereum/core/state"
	"github.com/ethereum/go-ethereum/core/types"
	"github.com/ethereum/go-ethereum/params"

	"dyno/parts/vfs"
	"dyno/parts/wal"
	"dyno/parts/wal/segment"
	"dyno/services/chain/console"
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
	log      *wal.Log
	o        Options
	ahead    ahead

	mu      sync.RWMutex // guards what follows
	now     time.Time    // of the call that is being made
	asking  *asking      // by that call, or the draft of the next block
	version uint64       // grows with each call
	broken  bool         // the chain must be opened again
	opening bool         // the journal is replayed: one goroutine has the chain
	work    int          // calls and blocks since the journal's last checkpoint
	states  *states
	gone    int                   // blocks and writes that were taken back or replaced, and are in states
	left    int                   // nodes that states had when such were left behind last
	origin  *origin               // of a fork
	forks   uint64                // the highest id of one, ever
	reads   map[uint64][]*read    // what the journal has of forks that have not begun yet
	missed  error                 // why an older block could not be read by what is executed
	refused map[common.Hash]error // why waiting transactions are not in the block that was filled last, unless it is for those before them
	grown   chan struct{}         // closed when there is a block, or blocks are taken back
	blocks  []*sealed
	byHash  map[common.Hash]uint64
	index   map[common.Hash]place  // of transactions
	begins  uint64                 // how often the chain began, in this process
	shown   time.Time              // when the last block became it; zero: before this process
	lines   *console.Lines         // that contracts print in the call that is being made; nil: they are not read
	root    common.Hash            // of the state after the last block and what was written since
	lent    map[common.Address]int // to how many calls accounts are that may be used without their keys
	fees    bool                   // blocks have what waits in the order of its tips
	settings
	forNext
	pool      []*types.Transaction // that wait, in the order in which they came
	snapshots []*snapshot
	taken     uint64 // snapshots, ever
	reverts   reverts
	accepted  []common.Hash
	more      chan struct{}

	started [8]byte       // of this process
	wake    chan struct{} // the interval has changed
	stop    context.CancelFunc
	task    sync.WaitGroup
	silent  atomic.Bool // what contracts print is not in the log
	settled atomic.Bool // calls name no other node to fork
}

// settings are what calls have set. Only a reset takes them back.
type settings struct {
	manual       bool          // no block for each transaction
	interval     time.Duration // from one block to the next; 0: none are made by the clock
	coinbase     common.Address
	gasLimit     uint64 // 0: as before
	impersonated map[common.Address]bool
	everybody    bool                 // all accounts are impersonated
	signatures   execution.Signatures // replaced by others, not changed, once the chain is open: executions read it
	// strict refuses transactions that no block can have, and executes those of accounts with code. It is set by
	// the first record of submit: journals of before have chains without it.
	strict bool
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
	// Reachable is for a node that other machines reach: it refuses transactions without a signature, whatever
	// accounts are impersonated, and what contracts print is not in the log.
	Reachable bool
	// Checkpoint is the number of calls and blocks from which on Open and Close have the journal begin
	// again with the chain as it is; 0: 2,000.
	Checkpoint int
	FS         vfs.FS // nil: the operating system's
	Fork       Fork
}

// Open opens the test chain in a data folder, and begins it if there is none.
func Open(ctx context.Context, dir string, g *genesis.Genesis, o Options) (*Chain, error) {
	files, err := segment.Open(filepath.Join(dir, Folder), segment.Options{FS: o.FS, Log: o.Log})
	if err != nil {
		return nil, err
	}
	o.Checkpoint = cmp.Or(o.Checkpoint, defaultCheckpoint)
	c := &Chain{o: o, log: wal.New(files, wal.Options{Commit: wal.Group}), wake: make(chan struct{}, 1), grown: make(chan struct{}), more: make(chan struct{}), reads: map[uint64][]*read{}, lent: map[common.Address]int{}}
	c.ahead.warming, c.opening = make(chan struct{}, 1), true
	rand.Read(c.started[:]) // never fails
	from, kept, err := c.lastCheckpoint(ctx)
	if err == nil {
		err = c.adopt(ctx, g, kept)
	}
	if err == nil {
		err = c.begin()
	}
	if err == nil {
		err = c.replay(ctx, from, kept)
	}
	if err != nil {
		return nil, errors.Join(fmt.Errorf("the test chain in %s: %w", dir, err), c.log.Close())
	}
	c.reads, c.opening = nil, false
	if !o.Reachable {
		c.lines = console.New("")
	}
	if err := c.begunAs(ctx, g != nil || o.Fork.ID > 0); err != nil {
		return nil, errors.Join(fmt.Errorf("the test chain in %s: %w", dir, err), c.log.Close())
	}
	c.shorten()
	ctx, c.stop = context.WithCancel(context.Background())
	if !o.Still {
		c.task.Go(func() { c.tick(ctx) })
	}
	return c, nil
}

// The record of the genesis, the first of the journal.
const (
	begunBefore = "genesis"          // blocks have what waits in the order in which it came
	begunByFees = "genesis, by fees" // the best tip first
)

// begun is that of a new journal. Tests begin one of before.
var begun = begunByFees

// adopt makes the genesis that of the journal; a new one begins with g, or that of test chains.
func (c *Chain) adopt(ctx context.Context, g *genesis.Genesis, kept *kept) error {
	first, next := c.log.Bounds()
	if first == next {
		if c.genesis = g; g == nil {
			id, err := c.o.Fork.id(ctx)
			if err != nil {
				return err
			}
			c.genesis = genesis.TestAs(uint64(time.Now().Unix()), id)
		}
		c.executor = execution.New(c.genesis)
		c.fees = begun == begunByFees
		return errors.Join(c.note(call{Method: begun, Params: c.genesis.JSON()}), c.log.Sync())
	}
	var text json.RawMessage
	if kept != nil {
		text, c.fees = kept.Genesis, kept.Fees
	} else {
		err := c.log.Scan(first, func(_ uint64, record []byte) error {
			var r call
			err := json.Unmarshal(record, &r)
			if c.fees = r.Method == begunByFees; err != nil || !c.fees && r.Method != begunBefore {
				err = errors.New("the journal does not begin with the genesis")
			}
			text = bytes.Clone(r.Params)
			return cmp.Or(err, wal.ErrStop)
		})
		if err != nil {
			return err
		}
	}
	var err error
	if c.genesis, err = genesis.Parse(text); err != nil {
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

// begin makes block 0. After an error the chain is as it was.
func (c *Chain) begin() error {
	states := newStates()
	db, err := gethstate.New(types.EmptyRootHash, states)
	if err != nil {
		return err
	}
	if err := state.Fill(db, c.genesis.Alloc); err != nil {
		return err
	}
	root, err := db.Commit(params.Rules{}, 0)
	if err != nil {
		return err
	}
	block := c.genesis.Block()
	c.endFork()
	c.restart(states, root, block, nil)
	return nil
}

// restart begins the chain with a block, and forgets all else.
func (c *Chain) restart(states *states, root common.Hash, block *types.Block, receipts types.Receipts) {
	c.states, c.root, c.gone, c.left = states, root, 0, 0
	c.blocks, c.byHash, c.index = nil, map[common.Hash]uint64{}, map[common.Hash]place{}
	c.settings, c.forNext = settings{impersonated: map[common.Address]bool{}}, forNext{}
	c.clock.last = block.Time()
	c.pool, c.snapshots, c.accepted = nil, nil, nil
	c.begins++
	c.append(block, receipts)
}

// base is the number of the first block that is here: 0, or that of the block that was forked.
func (c *Chain) base() uint64 { return c.blocks[0].block.NumberU64() }

// replay makes the calls of the journal again, over the last checkpoint if there is one.
func (c *Chain) replay(ctx context.Context, from uint64, kept *kept) error {
	var parts *parts // of the checkpoint, until its end
	if kept != nil {
		parts = newParts()
	}
	return c.log.Scan(from, func(number uint64, text []byte) error {
		if err := ctx.Err(); err != nil {
			return err
		}
		if isPart(text) { // outside of a checkpoint: of one that has no end
			if parts == nil {
				return nil
			}
			return wrong(number, parts.add(text))
		}
		var r call
		if err := json.Unmarshal(text, &r); err != nil {
			return fmt.Errorf("record %d of the journal is no call: %w", number, err)
		}
		switch r.Method {
		case begunBefore, begunByFees:
			return nil
		case checkpointed:
			err := c.restore(kept, parts)
			if parts, c.shown = nil, (time.Time{}); r.Time != 0 { // earlier versions did not keep it
				c.shown = time.Unix(0, r.Time)
			}
			return wrong(number, err)
		}
		run := calls[r.Method]
		if run == nil {
			return fmt.Errorf("record %d of the journal is a call of %q, which this version does not know", number, r.Method)
		}
		c.now, c.asking = time.Unix(0, r.Time), newAsking(ctx)
		c.work++
		if _, err := run(c, r.Params); err != nil {
			return fmt.Errorf("record %d of the journal, %s, fails now: %w", number, r.Method, err)
		}
		c.collect()
		return nil
	})
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
			_, _ = c.do(ctx, "evm_mine", json.RawMessage("[]")) // the next one may succeed, after another call
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
	c.mu.Lock()
	defer c.mu.Unlock()
	c.shorten()
	c.ahead.forget()
	c.endFork()
	return c.log.Close()
}
