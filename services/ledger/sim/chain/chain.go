// Package chain makes histories of the XRP Ledger for a simulated server: generated ones, in which
// all hashes, trees, links, signatures and validations are right, or real ledgers from a file. It
// keeps their answers rendered, in memory or a temporary file, and makes wrong ones on request.
//
// It is not a ledger, for it executes no transactions and has no state, and it is no server, which
// is services/ledger/sim. A Chain owns the goroutines that make ledgers; Close waits for them.
package chain

import (
	"cmp"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"runtime"
	"sync"

	"dyno/services/ledger/sim/fault"
	"dyno/services/ledger/xrpl"
)

// Spec describes a chain. Its zero value is a chain of 1,000 ledgers of 90 transactions. The
// same values give the same bytes on every machine.
type Spec struct {
	First        uint32 // index of the lowest ledger; 0: 90,000,001
	Ledgers      int    // 0: 1,000
	Transactions int    // in each ledger; 0: 90, below 0: none
	Seed         uint64
	// Distinct is the number of ledgers with transactions of their own; the others repeat those,
	// under headers of their own. Signing takes time (5 to 10 ms per ledger and core). 0: all have
	// their own.
	Distinct int
	// Share of ledgers that contain a wrong signature, and to which the chain above is linked.
	Forged     float64
	Validators int   // 0: 5
	Memory     int64 // bytes of answers kept in memory; more go to a temporary file. 0: 1 GiB
	// Replay is a file of ledgers, one answer to `ledger` with binary: true a line, served instead
	// of a generated chain; of the fields above only Seed, Validators and Memory apply then.
	Replay string
}

const (
	DefaultFirst        = 90_000_001
	DefaultLedgers      = 1000
	DefaultTransactions = 90
	DefaultValidators   = 5
	DefaultMemory       = 1 << 30

	// Bounds. A ledger without its transactions takes 300 bytes of memory.
	MaxLedgers    = 4 << 20
	MaxValidators = 100
)

// Check returns an error when there can be no such chain.
func (c Spec) Check() error { return c.complete() }

func (c *Spec) complete() error {
	c.First = cmp.Or(c.First, DefaultFirst)
	c.Ledgers = cmp.Or(c.Ledgers, DefaultLedgers)
	c.Transactions = max(0, cmp.Or(c.Transactions, DefaultTransactions))
	c.Validators = cmp.Or(c.Validators, DefaultValidators)
	c.Memory = cmp.Or(c.Memory, DefaultMemory)
	if c.Distinct == 0 || c.Distinct > c.Ledgers {
		c.Distinct = c.Ledgers
	}
	switch {
	case c.Ledgers < 1 || c.Ledgers > MaxLedgers:
		return fmt.Errorf("%d ledgers are not 1 to %d", c.Ledgers, MaxLedgers)
	case uint64(c.First)+uint64(c.Ledgers)+MaxLedgers > 1<<32:
		return fmt.Errorf("the first ledger is %d: that leaves no room to grow below 2^32", c.First)
	case c.Transactions > xrpl.MaxTransactions:
		return fmt.Errorf("%d transactions in a ledger are not 0 to %d", c.Transactions, xrpl.MaxTransactions)
	case c.Distinct < 1:
		return fmt.Errorf("%d distinct ledgers are none", c.Distinct)
	case c.Validators < 1 || c.Validators > MaxValidators:
		return fmt.Errorf("%d validators are not 1 to %d", c.Validators, MaxValidators)
	case !(c.Forged >= 0 && c.Forged <= 1):
		return fmt.Errorf("the share of forged ledgers is %v, not 0 to 1", c.Forged)
	case c.Memory < 0:
		return fmt.Errorf("%d bytes of memory are less than none", c.Memory)
	}
	return nil
}

// Chain holds ledgers ready to be served, by one Sim or several. It signs and links them on its own
// goroutines, which Close waits for; callers that need a ledger that is not made yet wait.
type Chain struct {
	config Spec
	mint   *mint // nil in a replay
	unl    *unl
	dice   fault.Dice
	shelf  shelf
	stop   context.CancelFunc
	work   sync.WaitGroup

	growing sync.Mutex // held while a ledger is added on top; taken before mu

	mu      sync.Mutex
	err     error         // why making ledgers stopped
	grown   chan struct{} // closed and replaced whenever a field below has changed
	target  int           // number of ledgers wanted
	entries []Entry       // ascending; the ledgers made so far
	sets    []*set        // nil: not made yet
	byHash  map[xrpl.Hash]int
}

// Entry is a ledger of a chain.
type Entry struct {
	header [xrpl.HeaderSize]byte
	hash   xrpl.Hash
	fork   xrpl.Hash // hash of the same ledger in the fork
	set    *set
}

// set is the transactions of a ledger, or of several.
type set struct {
	root   xrpl.Hash
	count  int
	forged bool     // one of the signatures is wrong
	ids    []uint64 // first bytes of the transactions' ids, in the order of rendering

	mu       sync.Mutex
	rendered [2]*place // by API version - 1; the second is made on request
}

// New starts to make a chain.
func New(c Spec) (*Chain, error) {
	if err := c.complete(); err != nil {
		return nil, err
	}
	chain := &Chain{config: c, grown: make(chan struct{}), byHash: map[xrpl.Hash]int{}, shelf: shelf{memory: c.Memory},
		dice: fault.Dice{Seed: c.Seed, Rates: fault.Rates{fault.Forged: c.Forged}}}
	var err error
	if chain.unl, err = newUNL(c.Seed, c.Validators); err != nil {
		return nil, err
	}
	ctx, stop := context.WithCancel(context.Background())
	chain.stop = stop
	if c.Replay != "" {
		if err := chain.replay(c.Replay); err != nil {
			stop()
			return nil, errors.Join(err, chain.shelf.close())
		}
		return chain, nil
	}
	chain.mint = newMint(c.Seed)
	chain.target = c.Ledgers
	chain.sets = make([]*set, c.Distinct)
	chain.entries = make([]Entry, 0, c.Ledgers)
	chain.make(ctx)
	return chain, nil
}

// make starts the goroutines that make the sets, in ascending order.
func (c *Chain) make(ctx context.Context) {
	var mu sync.Mutex
	next := 0
	claim := func() (int, bool) {
		mu.Lock()
		defer mu.Unlock()
		next++
		return next - 1, next <= len(c.sets) && ctx.Err() == nil
	}
	for range runtime.GOMAXPROCS(0) {
		c.work.Go(func() {
			for n, ok := claim(); ok; n, ok = claim() {
				s, err := c.makeSet(n)
				if err != nil {
					c.fail(err)
					return
				}
				c.add(ctx, n, s)
			}
		})
	}
}

// makeSet signs the transactions of the n-th set and renders them.
func (c *Chain) makeSet(n int) (*set, error) {
	txs, err := c.mint.transactions(n, c.config.First+uint32(n), c.config.Transactions)
	if err != nil {
		return nil, err
	}
	forged := c.dice.Happens(fault.Forged, uint64(n), 0) && spoilSignature(txs, c.dice.Roll("forged", uint64(n), 0))
	s, err := c.newSet(txs)
	if err != nil {
		return nil, err
	}
	s.forged = forged
	return s, nil
}

func (c *Chain) newSet(txs []xrpl.Transaction) (*set, error) {
	root, err := xrpl.NewVerifier().Root(txs)
	if err != nil {
		return nil, err
	}
	s := &set{root: root, count: len(txs)}
	for _, tx := range txs {
		id := xrpl.TransactionID(tx.Blob)
		s.ids = append(s.ids, binary.BigEndian.Uint64(id[:]))
	}
	p, err := c.shelf.put(Render(txs, 1))
	s.rendered[0] = &p
	return s, err
}

func (c *Chain) add(ctx context.Context, n int, s *set) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.sets[n] = s
	c.link(ctx)
}

// link appends ledgers as far as their sets are made. The caller holds the lock; link releases it
// now and then so that other callers do not wait long.
func (c *Chain) link(ctx context.Context) {
	const stretch = 1000 // ledgers: about 5 ms
	for len(c.entries) < c.target {
		n := len(c.entries) % c.config.Distinct
		if c.sets[n] == nil {
			break
		}
		c.append(c.sets[n])
		if len(c.entries)%stretch == 0 {
			c.changed()
			c.mu.Unlock()
			runtime.Gosched()
			c.mu.Lock()
			if ctx.Err() != nil {
				return
			}
		}
	}
	c.changed()
}

// Fields of the generated headers. Times are in seconds since 2000.
const (
	firstClose = 780_000_000 // 2024-09-18
	resolution = 10
	totalDrops = 100_000_000_000_000_000
	FeeDrops   = 10 // burnt by each transaction
)

func (c *Chain) append(s *set) {
	n := len(c.entries)
	h := xrpl.Header{
		Index:        c.config.First + uint32(n),
		Transactions: s.root,
		ParentClose:  firstClose,
		Resolution:   resolution,
		Drops:        totalDrops,
	}
	if n > 0 {
		below := &c.entries[n-1]
		parent, _ := xrpl.ParseHeader(below.header[:])
		h.Parent, h.ParentClose, h.Drops = below.hash, parent.Close, parent.Drops
	}
	h.Drops -= uint64(s.count * FeeDrops)
	h.Close = h.ParentClose + 3 + uint32(c.dice.Roll("close", uint64(h.Index), 0)%2)
	for i := range 4 {
		binary.BigEndian.PutUint64(h.State[8*i:], c.dice.Roll("state", uint64(h.Index), uint64(i)))
	}
	c.insert(h, h.Hash(), s)
}

// insert adds a ledger above all others, and the fork's.
func (c *Chain) insert(h xrpl.Header, hash xrpl.Hash, s *set) {
	e := Entry{hash: hash, set: s}
	h.Append(e.header[:0])
	e.fork = c.forked(h, len(c.entries)).Hash()
	c.byHash[e.hash] = len(c.entries)
	c.entries = append(c.entries, e)
}

// forked is the header of the fork's ledger; h is the true header and n its place. The fork has the
// same transactions and another state, from the first ledger on.
func (c *Chain) forked(h xrpl.Header, n int) *xrpl.Header {
	for i := range h.State {
		h.State[i] ^= 0xff
	}
	if n > 0 && c.entries[n-1].Index() == h.Index-1 {
		h.Parent = c.entries[n-1].fork
	}
	return &h
}

// changed wakes waiting callers. The caller holds the lock.
func (c *Chain) changed() {
	close(c.grown)
	c.grown = make(chan struct{})
}

func (c *Chain) fail(err error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.err == nil {
		c.err = err
	}
	c.changed()
}

// Made waits until all configured ledgers are made.
func (c *Chain) Made(ctx context.Context) error {
	return c.until(ctx, func() bool { return len(c.entries) >= c.target })
}

// Grow adds a ledger on top and returns its index. It waits for all others first.
func (c *Chain) Grow(ctx context.Context) (uint32, error) {
	if c.mint == nil {
		return 0, errors.New("a replay does not grow")
	}
	c.growing.Lock()
	defer c.growing.Unlock()
	if err := c.Made(ctx); err != nil {
		return 0, err
	}
	c.mu.Lock()
	n := c.target
	c.mu.Unlock()
	if n == c.config.Ledgers+MaxLedgers {
		return 0, errors.New("the chain is as long as it can be")
	}
	s, err := c.nextSet(n)
	if err != nil {
		return 0, err
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	c.target++
	c.append(s)
	c.changed()
	return c.entries[n].Index(), nil
}

func (c *Chain) nextSet(n int) (*set, error) {
	if c.config.Distinct < c.config.Ledgers {
		c.mu.Lock()
		defer c.mu.Unlock()
		return c.sets[n%c.config.Distinct], nil
	}
	return c.makeSet(n)
}

// Body returns the rendered transactions of a ledger, in scratch if they are not in memory.
func (c *Chain) Body(e *Entry, version int, scratch *[]byte) ([]byte, error) {
	return c.body(e.set, version, scratch)
}

func (c *Chain) body(s *set, version int, scratch *[]byte) ([]byte, error) {
	s.mu.Lock()
	p := s.rendered[version-1]
	s.mu.Unlock()
	if p != nil {
		return c.shelf.get(*p, scratch)
	}
	txs, err := c.transactions(s)
	if err != nil {
		return nil, err
	}
	b := Render(txs, version)
	made, err := c.shelf.put(b)
	if err != nil {
		return nil, err
	}
	s.mu.Lock()
	s.rendered[version-1] = &made
	s.mu.Unlock()
	return b, nil
}

// Transactions are those of a ledger, in memory that the caller owns.
func (c *Chain) Transactions(e *Entry) ([]xrpl.Transaction, error) { return c.transactions(e.set) }

func (c *Chain) transactions(s *set) ([]xrpl.Transaction, error) {
	b, err := c.body(s, 1, new([]byte))
	if err != nil {
		return nil, err
	}
	return parseTransactions(b)
}

// Close stops making ledgers, and frees all of them.
func (c *Chain) Close() error {
	c.stop()
	c.fail(errors.New("the chain is closed"))
	c.work.Wait()
	return c.shelf.close()
}
