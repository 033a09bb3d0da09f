package blockchain

import (
	"bytes"
	"context"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/cockroachdb/pebble/v2"
	"github.com/ethereum/go-ethereum/common"
	gethstate "github.com/ethereum/go-ethereum/core/state"
	"github.com/ethereum/go-ethereum/core/types"

	"dyno/services/chain/genesis"
	"dyno/services/chain/state"
	"dyno/services/chain/store"
)

// imported returns the public chain, which has all forks, imported with some history.
func imported(t *testing.T, dir, kind string, history int64) *Chain {
	t.Helper()
	file := func(name string) []byte {
		text, err := os.ReadFile(filepath.Join("../testdata/archive", name))
		if err != nil {
			t.Fatal(err)
		}
		return text
	}
	g, err := genesis.Parse(file("genesis.json"))
	if err != nil {
		t.Fatal(err)
	}
	c, err := Open(t.Context(), dir, g, Options{States: kind, History: history})
	if err != nil {
		t.Fatal(err)
	}
	if err := Import(t.Context(), c, bytes.NewReader(file("chain.rlp")), func() {}); err != nil {
		t.Fatal(err)
	}
	return c
}

// touched are the accounts, with slots, that the blocks of a chain say they replaced.
func touched(t *testing.T, c *Chain) map[common.Address][]common.Hash {
	t.Helper()
	all := map[common.Address][]common.Hash{}
	for address, account := range c.Genesis.Alloc {
		all[address] = nil
		for key := range account.Storage {
			all[address] = append(all[address], key)
		}
	}
	for n := uint64(1); n <= c.Head().Number.Uint64(); n++ {
		block, err := c.Blocks.Block(n)
		if err != nil {
			t.Fatal(err)
		}
		all[block.Coinbase()] = nil
		for _, tx := range block.Transactions() {
			from, err := types.Sender(types.MakeSigner(c.Genesis.Config, block.Number(), block.Time()), tx)
			if err != nil {
				t.Fatal(err)
			}
			all[from] = nil
			if tx.To() != nil {
				all[*tx.To()] = append(all[*tx.To()], common.Hash{}, common.Hash{31: 1})
			}
		}
	}
	return all
}

// The state after each block is the same from what was replaced as from the states themselves, for
// both kinds of states, and again after the chain is opened without the setting.
func TestHistory(t *testing.T) {
	for _, kind := range StateKinds() {
		dir := t.TempDir()
		c := imported(t, dir, kind, AllStates)
		for range 2 {
			all := touched(t, c)
			for n := uint64(0); n <= c.Head().Number.Uint64(); n++ {
				header, err := c.Blocks.Header(n)
				if err != nil {
					t.Fatal(err)
				}
				want, err := c.states.At(header)
				if err != nil {
					t.Fatal(err)
				}
				got, err := state.Past(header, &past{c, n})
				if err != nil {
					t.Fatal(err)
				}
				for address, keys := range all {
					same(t, n, address, keys, want, got)
				}
			}
			if err := c.Close(); err != nil {
				t.Fatal(err)
			}
			var err error
			if c, err = Open(t.Context(), dir, nil, Options{States: kind}); err != nil {
				t.Fatal(err)
			}
			if oldest, window := c.Kept(); oldest != 0 || window != 0 {
				t.Errorf("then the states since block %d are kept for %d blocks", oldest, window)
			}
		}
		if err := c.Close(); err != nil {
			t.Fatal(err)
		}
	}
}

func same(t *testing.T, n uint64, address common.Address, keys []common.Hash, want, got *gethstate.StateDB) {
	t.Helper()
	if want.Exist(address) != got.Exist(address) || !want.GetBalance(address).Eq(got.GetBalance(address)) || want.GetNonce(address) != got.GetNonce(address) ||
		!bytes.Equal(want.GetCode(address), got.GetCode(address)) || want.GetStorageRoot(address) != got.GetStorageRoot(address) {
		t.Fatalf("account %v after block %d is another one", address, n)
	}
	for _, key := range keys {
		if w, g := want.GetState(address, key), got.GetState(address, key); w != g {
			t.Fatalf("slot %v of %v after block %d is %v, want %v", key, address, n, g, w)
		}
	}
	if err := got.Error(); err != nil {
		t.Fatal(err)
	}
}

// A record that is gone, or another one, is found by Check.
func TestCheckHistory(t *testing.T) {
	dir := t.TempDir()
	if err := imported(t, dir, "", AllStates).Close(); err != nil {
		t.Fatal(err)
	}
	check := func() Report {
		r, err := Check(context.Background(), dir, Tail{}, func(uint64, uint64) {})
		if err != nil {
			t.Fatal(err)
		}
		return r
	}
	if r := check(); !r.OK {
		t.Fatalf("%+v", r)
	}
	db, err := store.OpenPebble(filepath.Join(dir, BlocksFolder), false, 1<<20)
	if err != nil {
		t.Fatal(err)
	}
	var keys [][]byte
	for _, prefix := range []string{"a", "s"} { // accounts, and slots
		it, err := db.NewIter(&pebble.IterOptions{LowerBound: []byte(prefix), UpperBound: []byte{prefix[0] + 1}})
		if err != nil {
			t.Fatal(err)
		}
		it.First()
		keys = append(keys, bytes.Clone(it.Key()))
		if err := it.Close(); err != nil {
			t.Fatal(err)
		}
	}
	if err := db.Delete(keys[0], pebble.Sync); err != nil {
		t.Fatal(err)
	}
	if err := db.Set(keys[1], []byte{99}, pebble.Sync); err != nil {
		t.Fatal(err)
	}
	if err := db.Close(); err != nil {
		t.Fatal(err)
	}
	r := check()
	if r.OK || len(r.Damage) != 2 {
		t.Fatalf("%+v", r)
	}
	for _, d := range r.Damage {
		if !strings.Contains(d.Error, "before it") || d.Block == nil {
			t.Errorf("%+v", d)
		}
	}
}

// A state that is trimmed while a caller has it is missing from then on, and no later one's values.
func TestTrimmed(t *testing.T) {
	c, err := Open(t.Context(), t.TempDir(), nil, Options{Begin: genesis.Development(), History: AllStates})
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	grow := func() {
		t.Helper()
		d, err := c.Begin(c.Head().Time + 1)
		if err == nil {
			err = d.Finish()
		}
		if err == nil {
			err = c.Put(d)
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	first := c.Head()
	for range 6 {
		grow()
	}
	p := &past{c, first.Number.Uint64()}
	if _, err := p.Account(genesis.Accounts[0]); err != nil {
		t.Fatal(err)
	}
	if err := c.Blocks.KeepHistory(1); err != nil {
		t.Fatal(err)
	}
	grow()
	if account, err := p.Account(genesis.Accounts[0]); err == nil || !strings.HasPrefix(err.Error(), "missing trie node") {
		t.Errorf("the account is %v: %v", account, err)
	}
	if _, err := p.Storage(genesis.Accounts[0], common.Hash{}); err == nil {
		t.Error("a slot is there")
	}
}
