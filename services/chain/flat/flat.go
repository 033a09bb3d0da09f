// Package flat keeps the newest state as records of accounts and slots in Pebble, and the changes
// of the last blocks above them in memory. The Merkle tries, which only roots and proofs need, stay
// open from block to block: a root costs the nodes above the accounts that changed since the last
// one, and a block without a root costs none.
//
// From time to time, at a boundary, the tries collapse into nodes. When 128 newer states exist, the
// nodes are written with the records of that block. What a crash loses is executed again.
//
// It is not for several branches of a chain. A goroutine writes each boundary, one at a time; Close
// waits for it, and ends those of Pebble.
package flat

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
	"sync"

	"github.com/ethereum/go-ethereum/common"
	"github.com/ethereum/go-ethereum/common/lru"
	gethstate "github.com/ethereum/go-ethereum/core/state"
	"github.com/ethereum/go-ethereum/core/types"
	"github.com/ethereum/go-ethereum/params"

	"dyno/services/chain/state"
	"dyno/services/chain/store"
)

// Bounds of the memory, beside the changes of the last blocks.
const (
	cachedAccounts = 1 << 17 // some 30 MB
	cachedSlots    = 1 << 18 // some 40 MB
	boundaryAfter  = 1 << 16 // changes of accounts and slots; the nodes above them are in memory
)

// Options are how states are opened.
type Options struct {
	ReadOnly  bool
	RootEvery uint64 // number of blocks from one root in a header to the next; 0 is 1
	Boundary  int    // number of changed accounts and slots from one boundary to the next; 0 is 65,536
}

// States implements state.States.
type States struct {
	disk      *disk
	rootEvery uint64
	most      int           // Options.Boundary
	writing   chan struct{} // holds one while a boundary is written

	mu       sync.RWMutex                                    // guards what follows
	begun    bool                                            // there is a state on disk
	base     mark                                            // the block whose state is on disk
	oldest   uint64                                          // the first block whose state can be read
	blocks   []*changes                                      // of the blocks after base
	history  history                                         // the same by account
	pending  []*boundary                                     // after base
	live     *tries                                          // those of the newest state; nil: made again from the last boundary
	touched  int                                             // since the last boundary
	failed   error                                           // why nothing is written any more
	accounts *lru.Cache[common.Address, *types.StateAccount] // as on disk
	slots    *lru.Cache[slot, common.Hash]

	proving    sync.Mutex // guards what follows
	proven     *tries     // of the block for which they were needed last
	provenMark mark
	provenRoot common.Hash
}

var _ state.States = (*States)(nil)

// mark names a block, and the root of its state; zero: it was not computed.
type mark struct {
	Number uint64
	Hash   common.Hash
	Root   common.Hash
}

// boundary is a block at which the tries became nodes.
type boundary struct {
	mark
	nodes map[string][]byte // by key, with what was there since the boundary before; nil: gone
}

// Open opens the states in a folder, which it creates unless it only reads.
func Open(dir string, o Options) (*States, error) {
	d, err := openDisk(dir, o)
	if err != nil {
		return nil, fmt.Errorf("opening %s: %w", dir, err)
	}
	s := &States{
		disk: d, rootEvery: max(o.RootEvery, 1), most: cmp.Or(o.Boundary, boundaryAfter), writing: make(chan struct{}, 1), history: newHistory(),
		accounts: lru.NewCache[common.Address, *types.StateAccount](cachedAccounts), slots: lru.NewCache[slot, common.Hash](cachedSlots),
	}
	if s.base, s.blocks, s.begun, err = d.load(); err != nil {
		return nil, errors.Join(err, d.db.Close())
	}
	s.oldest = s.base.Number
	for _, c := range s.blocks {
		s.history.add(c)
		s.touched += c.size()
	}
	return s, nil
}

// newest is the last block; s.mu is held.
func (s *States) newest() mark {
	if n := len(s.blocks); n > 0 {
		return s.blocks[n-1].mark
	}
	return s.base
}

// marked returns the mark of a block whose state can be read.
func (s *States) marked(header *types.Header) (mark, error) {
	s.mu.RLock()
	defer s.mu.RUnlock()
	n := header.Number.Uint64()
	if !s.begun || n < s.oldest || n > s.newest().Number {
		return mark{}, fmt.Errorf("the state after block %d is not kept", n)
	}
	m := s.base
	if n > s.base.Number {
		m = s.blocks[n-s.base.Number-1].mark
	}
	if m.Hash != header.Hash() {
		return mark{}, fmt.Errorf("the state after block %d (%x) is not kept, but that of another", n, header.Hash())
	}
	return m, nil
}

// At implements state.States.
func (s *States) At(header *types.Header) (*gethstate.StateDB, error) { return s.over(header, false) }

// Next implements state.States.
func (s *States) Next(header *types.Header) (*gethstate.StateDB, error) { return s.over(header, true) }

// over returns the state after a block. Of the newest state, one that is next has the tries.
func (s *States) over(header *types.Header, next bool) (*gethstate.StateDB, error) {
	r, root, rooted, base := &reader{s: s, empty: header == nil}, types.EmptyRootHash, true, mark{}
	number := uint64(0) // of the next block
	if header != nil {
		var err error
		if base, err = s.marked(header); err != nil {
			return nil, err
		}
		number = base.Number + 1
		root, rooted, r.number = header.Root, number%s.rootEvery == 0, base.Number
	}
	return gethstate.NewWithReader(root, under{r, func() *over {
		return &over{s: s, reader: r, next: next, base: base, root: root, rooted: rooted,
			changes: newChanges(mark{Number: number}), delta: newChanges(mark{Number: number}), opened: map[common.Address]common.Hash{}}
	}}, r)
}

// Reader implements state.States.
func (s *States) Reader(header *types.Header) (gethstate.Reader, error) {
	m, err := s.marked(header)
	return &reader{s: s, number: m.Number}, err
}

// Has implements state.States.
func (s *States) Has(header *types.Header) bool {
	_, err := s.marked(header)
	return err == nil
}

// Root implements state.States.
func (s *States) Root(header *types.Header) (common.Hash, error) {
	m, err := s.marked(header)
	if err != nil || m.Root != (common.Hash{}) {
		return m.Root, err
	}
	err = s.prove(m, func(_ *tries, computed common.Hash) error {
		m.Root = computed
		return nil
	})
	return m.Root, err
}

// prove calls use with the tries of a kept state, and its root. They stay for the next call, which
// is often about the same block.
func (s *States) prove(m mark, use func(*tries, common.Hash) error) error {
	s.proving.Lock()
	defer s.proving.Unlock()
	if s.proven == nil || s.provenMark != m {
		t, err := s.triesAt(m.Number)
		if err != nil {
			return err
		}
		root, _, err := t.hash()
		if err != nil {
			return err
		}
		s.proven, s.provenMark, s.provenRoot = t, m, root
	}
	return use(s.proven, s.provenRoot)
}

// Commit implements state.States.
func (s *States) Commit(db *gethstate.StateDB, header *types.Header, rules params.Rules, replaced *store.Replaced) error {
	root := db.IntermediateRoot(rules)
	o, ok := db.GetTrie().(*over)
	if err := state.Err(db); err != nil || !ok || o.s != s || o.changes.Number != header.Number.Uint64() {
		return errors.Join(fmt.Errorf("the state is not that after block %d", header.Number), err)
	}
	if o.rooted && root != header.Root {
		return fmt.Errorf("the state has the root %x, and the header %x", root, header.Root)
	}
	if err := s.fall(o); err != nil {
		return err
	}
	t, err := o.take()
	if err = errors.Join(err, s.disk.putCodes(o.codes)); err != nil {
		return err
	}
	c := o.changes
	if replaced != nil {
		if err := s.replacedBy(c, o.reader, replaced); err != nil {
			return err
		}
	}
	c.Hash = header.Hash()
	if o.rooted {
		c.Root = root
	}
	var b *boundary
	if s.due(c) {
		if b, err = t.collapse(c); err != nil {
			return err
		}
		t = s.above(c.Number)
	}
	return s.push(c, b, t)
}

// fall drops the states after the one that o is over. There are some when their blocks were lost,
// or could not be stored.
func (s *States) fall(o *over) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.failed != nil || o.reader.empty && !s.begun || s.newest() == o.base {
		return s.failed
	}
	if o.reader.empty || o.base.Number < s.oldest {
		return fmt.Errorf("the state after block %d is not kept", o.base.Number)
	}
	n := o.base.Number - s.base.Number
	for _, c := range s.blocks[n:] {
		s.history.cut(c, o.base.Number+1, true)
	}
	s.blocks, s.live = s.blocks[:n:n], nil
	for len(s.pending) > 0 && s.pending[len(s.pending)-1].Number > o.base.Number {
		s.pending = s.pending[:len(s.pending)-1]
	}
	return nil
}

// due reports whether a block must be a boundary.
func (s *States) due(c *changes) bool {
	s.mu.RLock()
	defer s.mu.RUnlock()
	last := s.base.Number
	for _, b := range s.pending {
		last = b.Number
	}
	s.touched += c.size()
	return !s.begun || s.touched >= s.most || c.Number-last >= state.Kept
}

// push makes the changes of a block the newest state, and writes what is old enough.
func (s *States) push(c *changes, b *boundary, t *tries) error {
	s.mu.Lock()
	s.live = t
	if b != nil {
		s.touched = 0
	}
	if !s.begun {
		s.mu.Unlock()
		return s.flush(c, b)
	}
	s.blocks = append(s.blocks, c)
	s.history.add(c)
	if b != nil {
		s.pending = append(s.pending, b)
	}
	s.mu.Unlock()
	s.settle(c.Number)
	return nil
}

// settle begins to write the first boundary, if it is old enough at a block. One is written at a
// time; Commit waits for it only when the next is twice as old.
func (s *States) settle(number uint64) {
	age := func() uint64 {
		s.mu.RLock()
		defer s.mu.RUnlock()
		if len(s.pending) == 0 || s.failed != nil {
			return 0
		}
		return number - s.pending[0].Number
	}
	if age() < state.Kept {
		return
	}
	select {
	case s.writing <- struct{}{}:
	default:
		if age() < 2*state.Kept {
			return
		}
		s.writing <- struct{}{}
	}
	if age() < state.Kept { // the one that was being written
		<-s.writing
		return
	}
	s.mu.Lock()
	first := s.pending[0]
	s.oldest = first.Number
	blocks := slices.Clone(s.blocks[:first.Number-s.base.Number])
	s.mu.Unlock()
	go func() {
		defer func() { <-s.writing }()
		all := newChanges(first.mark)
		for _, c := range blocks {
			all.merge(c)
		}
		s.flush(all, first)
	}()
}

// flush writes the changes since base up to a boundary, which becomes base. Readers find them in
// memory until they are on disk.
func (s *States) flush(all *changes, b *boundary) error {
	err := s.disk.write(all, b)
	s.mu.Lock()
	defer s.mu.Unlock()
	if err != nil {
		s.failed = fmt.Errorf("writing %s: %w; start again when the cause is fixed", s.disk.dir, err)
		return s.failed
	}
	if s.oldest = b.Number; s.begun {
		s.history.cut(all, b.Number+1, false)
		s.blocks, s.pending = append([]*changes(nil), s.blocks[b.Number-s.base.Number:]...), append([]*boundary(nil), s.pending[1:]...)
	}
	if len(all.wiped) > 0 {
		s.slots.Purge()
	}
	s.begun, s.base = true, b.mark
	for address, account := range all.accounts {
		s.accounts.Add(address, account)
	}
	for address, slots := range all.slots {
		for key, value := range slots {
			s.slots.Add(slot{address, key}, value)
		}
	}
	return nil
}

// Close implements state.States.
func (s *States) Close(keep *types.Header) error {
	s.writing <- struct{}{} // nothing is written from here on
	err := s.failed
	if keep != nil && err == nil {
		err = s.disk.journal(s.blocks)
	}
	if err = errors.Join(err, s.disk.db.Close()); err != nil || keep == nil {
		return err
	}
	return store.Settle(s.disk.dir)
}
