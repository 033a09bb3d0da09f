package state_test

import (
	"fmt"
	"testing"

	"github.com/ethereum/go-ethereum/common"
	gethstate "github.com/ethereum/go-ethereum/core/state"
	"github.com/ethereum/go-ethereum/core/types"
	"github.com/ethereum/go-ethereum/crypto"

	"dyno/services/chain/store"
)

// value is what can be read of an account and its slots.
type value struct {
	account string
	slots   [slots]common.Hash
}

func show(a *types.StateAccount) string {
	if a == nil {
		return "none"
	}
	return fmt.Sprint(a.Nonce, a.Balance, a.CodeHash)
}

// read reads an account after a block.
func read(t *testing.T, r gethstate.Reader, a common.Address) (v value) {
	t.Helper()
	account, err := r.Account(a)
	v.account = show(must(t, account, err))
	for i := range slots {
		slot, err := r.Storage(a, key(i))
		v.slots[i] = must(t, slot, err)
	}
	return v
}

// From what the blocks since then replaced, and the newest state, follows each state before, whatever
// kind of states says what was replaced.
func TestReplaced(t *testing.T) {
	const blocks = 40
	addresses := []common.Address{}
	for i := range people {
		addresses = append(addresses, person(i))
	}
	for i := range contracts {
		addresses = append(addresses, contract(i))
	}
	for _, e := range eras {
		t.Run(e.name, func(t *testing.T) {
			t.Parallel()
			c := start(t, e, kinds[1].open, 2)
			c.mine(blocks)
			reader := func(n int) gethstate.Reader {
				r, err := c.reference.Reader(c.headers[n])
				return must(t, r, err)
			}
			for kind, replaced := range c.replaced {
				for n := 0; n < blocks; n += 6 {
					for _, a := range addresses {
						want, got := read(t, reader(n), a), read(t, reader(blocks), a)
						before(replaced[n:], a, &got)
						if got != want {
							t.Fatalf("%s: account %x after block %d is %v, want %v", kinds[kind].name, a, n, got, want)
						}
					}
				}
			}
			if err := c.other.Close(nil); err != nil {
				t.Error(err)
			}
		})
	}
}

// before gives a value what it was before blocks.
func before(blocks []*store.Replaced, a common.Address, v *value) {
	for i := len(blocks) - 1; i >= 0; i-- {
		if account, ok := blocks[i].Accounts[a]; ok {
			v.account = show(account)
		}
		for k := range slots {
			hash := key(k)
			if old, ok := blocks[i].Slots[a][crypto.Keccak256Hash(hash[:])]; ok {
				v.slots[k] = old
			}
		}
	}
}
