package state_test

import (
	"testing"

	"github.com/ethereum/go-ethereum/common"
	gethstate "github.com/ethereum/go-ethereum/core/state"
	"github.com/ethereum/go-ethereum/core/tracing"
	"github.com/holiman/uint256"

	"dyno/services/chain/state"
)

// Several roots from one StateDB, as simulations of several blocks take them, are those of the reference,
// whatever becomes of an account's slots between them.
func TestSeveralRoots(t *testing.T) {
	a := contract(0) // has two slots in the genesis
	give := func(db *gethstate.StateDB) {
		db.AddBalance(a, uint256.NewInt(3), tracing.BalanceChangeUnspecified)
	}
	steps := []struct {
		name string
		do   func(db *gethstate.StateDB, e era)
	}{
		{"a slot", func(db *gethstate.StateDB, _ era) { db.SetState(a, key(9), common.Hash{31: 5}) }},
		{"a slot and back", func(db *gethstate.StateDB, e era) {
			was := db.GetState(a, key(2))
			db.SetState(a, key(2), common.Hash{31: 77})
			db.Finalise(e.rules)
			db.SetState(a, key(2), was)
			give(db)
		}},
		{"balance", func(db *gethstate.StateDB, _ era) { give(db) }},
		{"state: {}", func(db *gethstate.StateDB, _ era) { db.SetStorage(a, map[common.Hash]common.Hash{}) }},
		{"state: {7: 2}", func(db *gethstate.StateDB, _ era) {
			db.SetStorage(a, map[common.Hash]common.Hash{key(7): {31: 2}})
		}},
		{"destroyed", func(db *gethstate.StateDB, _ era) { db.SelfDestruct(a) }},
		{"destroyed, then balance", func(db *gethstate.StateDB, e era) {
			db.SelfDestruct(a)
			db.Finalise(e.rules)
			give(db)
		}},
		{"no slots", func(db *gethstate.StateDB, _ era) {
			for i := range slots {
				db.SetState(a, key(i), common.Hash{})
			}
		}},
		{"made again", func(db *gethstate.StateDB, _ era) {
			if !db.Exist(a) {
				db.CreateAccount(a)
				db.CreateContract(a)
				db.SetNonce(a, 1, tracing.NonceChangeUnspecified)
				db.SetState(a, key(3), common.Hash{31: 9})
			}
		}},
	}
	for _, kind := range kinds[1:] {
		for _, e := range eras[1:3] {
			t.Run(kind.name+"/"+e.name, func(t *testing.T) {
				t.Parallel()
				c := start(t, e, kind.open, 7)
				c.mine(30)
				roots := func(s state.States, sequence [3]int) (out [3]common.Hash) {
					db, err := s.At(c.head())
					if err != nil {
						t.Fatal(err)
					}
					for i, n := range sequence {
						db.SetTxContext(common.Hash{byte(i)}, i, uint32(i+1))
						steps[n].do(db, e)
						db.Finalise(e.rules)
						out[i] = db.IntermediateRoot(e.rules)
					}
					return out
				}
				for n := range len(steps) * len(steps) * len(steps) {
					sequence := [3]int{n % len(steps), n / len(steps) % len(steps), n / len(steps) / len(steps)}
					if want, got := roots(c.reference, sequence), roots(c.other, sequence); got != want {
						t.Errorf("%s, %s, %s: %x, want %x", steps[sequence[0]].name, steps[sequence[1]].name, steps[sequence[2]].name, got, want)
					}
				}
				if err := c.other.Close(nil); err != nil {
					t.Error(err)
				}
			})
		}
	}
}
