package blockchain

import (
	"sync"
	"testing"

	"github.com/ethereum/go-ethereum/common"
	"github.com/holiman/uint256"

	"dyno/services/chain/genesis"
)

// Copies of one state compute roots concurrently, and none has the changes of another.
func TestConcurrentRoots(t *testing.T) {
	for _, kind := range StateKinds() {
		t.Run(kind, func(t *testing.T) {
			c, err := Open(t.Context(), t.TempDir(), nil, Options{States: kind, Begin: genesis.Development()})
			if err != nil {
				t.Fatal(err)
			}
			defer c.Close()
			d, err := c.Look(c.Head().Time + 1)
			if err != nil {
				t.Fatal(err)
			}
			defer d.Abandon()
			rules := c.executor.Rules(d.Header())
			var roots [4]common.Hash
			var all sync.WaitGroup
			for i := range roots {
				db := d.State().Copy()
				all.Go(func() {
					for n := range byte(50) {
						if i > 1 { // the first two change nothing
							db.AddBalance(common.Address{byte(i), n}, uint256.NewInt(1), 0)
							db.SetState(genesis.Accounts[i], common.Hash{n}, common.Hash{1})
						}
						roots[i] = db.IntermediateRoot(rules)
					}
				})
			}
			all.Wait()
			if roots[0] != roots[1] || roots[1] == roots[2] || roots[2] == roots[3] {
				t.Errorf("the roots are %x", roots)
			}
		})
	}
}
