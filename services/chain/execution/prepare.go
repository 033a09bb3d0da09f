package execution

import (
	"github.com/ethereum/go-ethereum/common"
	gethstate "github.com/ethereum/go-ethereum/core/state"
	"github.com/ethereum/go-ethereum/core/types"
	"github.com/ethereum/go-ethereum/params"
)

// unprepared is a state whose access list and transient storage are prepared when the code of a
// contract first needs them. A plain transfer never does, and the list, which has all precompiled
// contracts, is as much work as all that a transfer changes.
type unprepared struct {
	*gethstate.StateDB
	prepare func() // nil: it is prepared
}

// Prepare implements vm.StateDB.
func (u *unprepared) Prepare(rules params.Rules, sender, coinbase common.Address, to *common.Address, precompiles []common.Address, list types.AccessList) {
	u.prepare = func() { u.StateDB.Prepare(rules, sender, coinbase, to, precompiles, list) }
	if rules.IsAmsterdam || rules.IsEIP4762 { // then it collects what plain transfers access, too
		u.ready()
	}
}

func (u *unprepared) ready() *gethstate.StateDB {
	if u.prepare != nil {
		u.prepare()
		u.prepare = nil
	}
	return u.StateDB
}

func (u *unprepared) GetTransientState(a common.Address, key common.Hash) common.Hash {
	return u.ready().GetTransientState(a, key)
}

func (u *unprepared) SetTransientState(a common.Address, key, value common.Hash) {
	u.ready().SetTransientState(a, key, value)
}

func (u *unprepared) AddressInAccessList(a common.Address) bool {
	return u.ready().AddressInAccessList(a)
}

func (u *unprepared) SlotInAccessList(a common.Address, slot common.Hash) (bool, bool) {
	return u.ready().SlotInAccessList(a, slot)
}

func (u *unprepared) AddAddressToAccessList(a common.Address) { u.ready().AddAddressToAccessList(a) }

func (u *unprepared) AddSlotToAccessList(a common.Address, slot common.Hash) {
	u.ready().AddSlotToAccessList(a, slot)
}
