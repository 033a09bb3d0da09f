package state_test

import (
	"fmt"
	"math/big"
	"math/rand/v2"
	"strings"
	"sync"
	"testing"

	"github.com/ethereum/go-ethereum/common"
	"github.com/ethereum/go-ethereum/core"
	gethstate "github.com/ethereum/go-ethereum/core/state"
	"github.com/ethereum/go-ethereum/core/tracing"
	"github.com/ethereum/go-ethereum/core/types"
	"github.com/ethereum/go-ethereum/params"
	"github.com/ethereum/go-ethereum/trie"
	"github.com/holiman/uint256"

	"dyno/services/chain/state"
	"dyno/services/chain/store"
)

// transaction changes a state.
type transaction func(*gethstate.StateDB)

// era are rules with what may happen under them.
type era struct {
	name      string
	rules     params.Rules
	perRoot   bool // a root after each transaction, as before Byzantium
	rootEvery uint64
}

var eras = []era{
	{"homestead", params.Rules{IsHomestead: true}, true, 1},
	{"london", params.Rules{IsHomestead: true, IsEIP158: true, IsByzantium: true, IsLondon: true}, false, 1},
	{"cancun", params.Rules{IsHomestead: true, IsEIP158: true, IsByzantium: true, IsLondon: true, IsCancun: true}, false, 1},
	{"cancun, a root every 7 blocks", params.Rules{IsHomestead: true, IsEIP158: true, IsByzantium: true, IsLondon: true, IsCancun: true}, false, 7},
}

const (
	people    = 40
	contracts = 12
	slots     = 30
)

func person(i int) common.Address   { return common.Address{1, byte(i)} }
func contract(i int) common.Address { return common.Address{2, byte(i)} }
func key(i int) common.Hash         { return common.Hash{byte(i), 31: 1} }

// any returns a transaction such as the EVM can make under an era's rules.
func (e era) any(r *rand.Rand) transaction {
	from, to, value, c, n := person(r.IntN(people)), person(r.IntN(people)), r.Uint64N(1000), contract(r.IntN(contracts)), r.IntN(20)
	writes := map[common.Hash]common.Hash{}
	for range n {
		writes[key(r.IntN(slots))] = common.Hash{31: byte(r.IntN(3))} // a third are removed
	}
	create := func(db *gethstate.StateDB, c common.Address) {
		db.CreateAccount(c)
		db.CreateContract(c)
		db.SetNonce(c, 1, tracing.NonceChangeUnspecified)
		db.SetCode(c, []byte{byte(n), c[1], 0xfe}, tracing.CodeChangeUnspecified)
	}
	write := func(db *gethstate.StateDB) {
		for key, value := range writes {
			db.SetState(c, key, value)
		}
	}
	switch r.IntN(6) {
	case 0, 1:
		return func(db *gethstate.StateDB) {
			db.SetNonce(from, db.GetNonce(from)+1, tracing.NonceChangeUnspecified)
			if n < 5 && db.Exist(c) { // whose slots stay as they are
				to = c
			}
			db.AddBalance(to, uint256.NewInt(value), tracing.BalanceChangeUnspecified)
		}
	case 2: // touched while empty, and a snapshot that is taken back
		return func(db *gethstate.StateDB) {
			at := db.Snapshot()
			db.AddBalance(from, uint256.NewInt(value+1), tracing.BalanceChangeUnspecified)
			db.RevertToSnapshot(at)
			db.AddBalance(to, new(uint256.Int), tracing.BalanceChangeUnspecified)
		}
	case 3:
		return func(db *gethstate.StateDB) {
			if e.rules.IsCancun && !db.Exist(c) {
				create(db, c)
				write(db)
				db.SelfDestruct(c) // in the transaction that created it: all that Cancun removes
			} else if !e.rules.IsCancun {
				db.SelfDestruct(c)
			}
		}
	default:
		return func(db *gethstate.StateDB) {
			if !db.Exist(c) {
				create(db, c)
			}
			write(db)
		}
	}
}

// run executes a block over the newest state.
func (e era) run(t testing.TB, s state.States, parent *types.Header, block []transaction) (*gethstate.StateDB, common.Hash) {
	t.Helper()
	db := must(t, at(s, parent), nil)
	for i, tx := range block {
		db.SetTxContext(common.Hash{byte(i)}, i, uint32(i+1))
		tx(db)
		if db.Finalise(e.rules); e.perRoot {
			db.IntermediateRoot(e.rules)
		}
	}
	root := db.IntermediateRoot(e.rules)
	if err := state.Err(db); err != nil {
		t.Fatal(err)
	}
	return db, root
}

func at(s state.States, header *types.Header) *gethstate.StateDB {
	db, err := s.Next(header)
	if err != nil {
		panic(fmt.Sprint(header.Number, err))
	}
	return db
}

// chain are the same blocks in the reference and in another kind.
type chain struct {
	era
	t         *testing.T
	dir       string
	open      opener
	reference state.States
	other     state.States
	headers   []*types.Header
	blocks    [][]transaction
	random    *rand.Rand

	replaced [2][]*store.Replaced // by each block, as the reference and the other say
}

const boundary = 400 // changes: a few blocks, so that all that happens later happens soon

func start(t *testing.T, e era, open opener, seed uint64) *chain {
	c := &chain{era: e, t: t, dir: t.TempDir(), open: open, random: rand.New(rand.NewPCG(seed, 0))}
	c.reference = kinds[0].open(t, t.TempDir(), e.rootEvery, 0)
	c.other = open(t, c.dir, e.rootEvery, boundary)
	alloc := types.GenesisAlloc{}
	for i := range people {
		alloc[person(i)] = types.Account{Balance: big.NewInt(int64(i)), Nonce: uint64(i % 2)}
	}
	alloc[contract(0)] = types.Account{Balance: big.NewInt(1), Code: []byte{1}, Nonce: 1, Storage: map[common.Hash]common.Hash{key(1): {1}, key(2): {2}}}
	c.headers = []*types.Header{{Number: new(big.Int), Difficulty: new(big.Int), Root: (&core.Genesis{Config: params.MergedTestChainConfig, Alloc: alloc}).ToBlock().Root()}}
	for _, s := range []state.States{c.reference, c.other} {
		if err := state.Allocate(s, alloc, c.headers[0]); err != nil {
			t.Fatal(err)
		}
	}
	t.Cleanup(func() {
		if err := c.reference.Close(nil); err != nil {
			t.Error(err)
		}
	})
	return c
}

func (c *chain) head() *types.Header { return c.headers[len(c.headers)-1] }

// mine makes blocks in both.
func (c *chain) mine(n int) {
	c.t.Helper()
	for range n {
		parent := c.head()
		block := make([]transaction, c.random.IntN(8))
		for i := range block {
			block[i] = c.any(c.random)
		}
		db, root := c.run(c.t, c.reference, parent, block)
		header := &types.Header{ParentHash: parent.Hash(), Number: new(big.Int).Add(parent.Number, common.Big1), Difficulty: new(big.Int), Root: root}
		if header.Number.Uint64()%c.rootEvery != 0 {
			header.Root = parent.Root
		}
		r := store.NewReplaced()
		if err := c.reference.Commit(db, header, c.rules, r); err != nil {
			c.t.Fatal(err)
		}
		c.replaced[0] = append(c.replaced[0], r)
		c.blocks, c.headers = append(c.blocks, block), append(c.headers, header)
		c.apply(header.Number.Uint64())
	}
}

// apply executes a block in the other.
func (c *chain) apply(n uint64) {
	c.t.Helper()
	if n%9 == 0 { // a block that is thrown away changes nothing
		c.run(c.t, c.other, c.headers[n-1], []transaction{c.any(c.random), c.any(c.random)})
	}
	db, _ := c.run(c.t, c.other, c.headers[n-1], c.blocks[n-1])
	r := store.NewReplaced()
	if err := c.other.Commit(db, c.headers[n], c.rules, r); err != nil {
		c.t.Fatalf("block %d: %v", n, err)
	}
	c.replaced[1] = append(c.replaced[1], r)
}

// same holds what both say of a block against each other.
func (c *chain) same(n uint64) {
	c.t.Helper()
	header := c.headers[n]
	want := must(c.t, at(c.reference, header), nil)
	got := at(c.other, header)
	for i := range people + contracts {
		a := person(i)
		if i >= people {
			a = contract(i - people)
		}
		if want.Exist(a) != got.Exist(a) || want.GetNonce(a) != got.GetNonce(a) || !want.GetBalance(a).Eq(got.GetBalance(a)) ||
			string(want.GetCode(a)) != string(got.GetCode(a)) || want.GetCodeSize(a) != got.GetCodeSize(a) {
			c.t.Fatalf("block %d: account %x is another", n, a)
		}
		for i := range slots {
			if w, g := want.GetState(a, key(i)), got.GetState(a, key(i)); w != g {
				c.t.Fatalf("block %d: slot %x of %x is %x, want %x", n, key(i), a, g, w)
			}
		}
	}
	if err := state.Err(got); err != nil {
		c.t.Fatal(err)
	}
	root, err := c.other.Root(header)
	if want := must(c.t, root, err); c.mustRoot(header) != want {
		c.t.Fatalf("block %d: the root is %x, want %x", n, want, c.mustRoot(header))
	}
}

func (c *chain) mustRoot(header *types.Header) common.Hash {
	root, err := c.reference.Root(header)
	return must(c.t, root, err)
}

// reopen closes the other and opens it again. It returns the newest block whose state it has.
func (c *chain) reopen(keep *types.Header) int {
	c.t.Helper()
	if err := c.other.Close(keep); err != nil {
		c.t.Fatal(err)
	}
	c.other = c.open(c.t, c.dir, c.rootEvery, boundary)
	n := len(c.headers) - 1
	for n >= 0 && !c.other.Has(c.headers[n]) {
		n--
	}
	return n
}

// All kinds give the same roots and answers for the same blocks, also of the last 128 states, after
// a clean stop and after a crash; and what is on disk proves itself.
func TestKinds(t *testing.T) {
	for _, kind := range kinds {
		for _, e := range eras {
			t.Run(kind.name+"/"+e.name, func(t *testing.T) {
				t.Parallel()
				c := start(t, e, kind.open, 1)
				c.mine(150)
				for n := uint64(150 - state.Kept + 1); n <= 150; n += 15 {
					c.same(n)
				}
				if n := c.reopen(c.head()); n != 150 {
					t.Fatalf("after a clean stop at block 150 the newest state is that of %d", n)
				}
				for n := uint64(150 - state.Kept + 1); n <= 150; n += 15 {
					c.same(n)
				}
				c.mine(151)
				n := c.reopen(nil)
				if n < 0 && kind.name != "statedb" { // which may have written nothing yet
					t.Fatal("after a crash no state is there")
				}
				if n < 0 {
					t.SkipNow()
				}
				for n := uint64(n + 1); n < uint64(len(c.headers)); n++ {
					c.apply(n)
				}
				c.same(301)
				if err := c.other.Verify(t.Context(), c.head(), c.mustRoot(c.head())); err != nil {
					t.Error(err)
				}
				if n := c.reopen(c.head()); n != 301 {
					t.Errorf("the newest state is that of %d", n)
				}
				if err := c.other.Verify(t.Context(), c.head(), c.mustRoot(c.head())); err != nil {
					t.Error(err)
				}
				if err := c.other.Verify(t.Context(), c.head(), common.Hash{1}); err == nil {
					t.Error("another root is accepted")
				}
				if err := c.other.Close(nil); err != nil {
					t.Error(err)
				}
			})
		}
	}
}

// Readers of old states see what was there while blocks come, boundaries are written, and their
// states go.
func TestReaders(t *testing.T) {
	for _, kind := range kinds {
		t.Run(kind.name, func(t *testing.T) {
			t.Parallel()
			c := start(t, eras[2], kind.open, 2)
			var group sync.WaitGroup
			defer group.Wait()
			for n := range 8 {
				c.mine(40)
				header := c.head()
				want, db := map[common.Address]uint64{}, at(c.reference, header)
				for i := range people {
					want[person(i)] = db.GetNonce(person(i))
				}
				r, err := c.other.Reader(header)
				if err != nil {
					t.Fatal(n, err)
				}
				group.Go(func() {
					for range 100 {
						for address, nonce := range want {
							account, err := r.Account(address)
							if err != nil {
								return // 128 newer ones exist
							}
							if account != nil && account.Nonce != nonce || account == nil && nonce != 0 {
								t.Errorf("block %d: account %x is %+v, want the nonce %d", header.Number, address, account, nonce)
							}
						}
					}
				})
			}
			if kind.name != "statedb" {
				if _, err := c.other.At(c.headers[1]); err == nil {
					t.Error("the state after block 1 is still kept")
				}
			}
			group.Wait()
			if err := c.other.Close(nil); err != nil {
				t.Error(err)
			}
		})
	}
}

// An iterator over the slots of a state ends with an error that says so when the state is no longer kept.
func TestIterated(t *testing.T) {
	t.Parallel()
	c := start(t, eras[2], kinds[1].open, 2)
	c.mine(200)
	db, err := c.other.At(c.head())
	if err != nil {
		t.Fatal(err)
	}
	var all []*trie.Iterator
	for i := range contracts {
		slots, err := db.Database().OpenStorageTrie(c.head().Root, contract(i), db.GetStorageRoot(contract(i)), nil)
		if err != nil {
			t.Fatal(err)
		}
		nodes, err := slots.NodeIterator(nil)
		if err != nil {
			t.Fatal(err)
		}
		all = append(all, trie.NewIterator(nodes))
	}
	c.mine(3 * state.Kept) // the state is written over meanwhile: a block waits for the one that is twice as old
	ended := 0
	for i, it := range all {
		for it.Next() {
		}
		if it.Err != nil && !strings.Contains(it.Err.Error(), "the state is no longer kept") {
			t.Errorf("the slots of contract %d: %v", i, it.Err)
		} else if it.Err != nil {
			ended++
		}
	}
	if ended == 0 {
		t.Error("no iterator has an error")
	}
	if err := c.other.Close(nil); err != nil {
		t.Error(err)
	}
}
