package xrpl

import (
	"encoding/binary"

	"dyno/services/ledger/xrpl/sfield"
)

// Meta is the effect of a transaction, limited to accounts.
type Meta struct {
	Index    uint32 // position in the ledger, from 0
	Result   uint8  // 0 is tesSUCCESS
	Accounts []AccountChange
}

// AccountChange is the change of an account. Amounts are in drops.
type AccountChange struct {
	Account           AccountID
	Created           bool // the account is new
	Sequence, Before  uint32
	Balance, Previous uint64
	Owned             uint32
	RegularKey        AccountID // zero means none
	LastTxn           Hash      // the transaction that last changed it, and its ledger
	LastLedger        uint32
}

const entryAccountRoot = 0x61 // LedgerEntryType

// Append appends the metadata.
func (m *Meta) Append(dst []byte) []byte {
	b := Fields(dst).UInt32(sfield.TransactionIndex, m.Index).Open(sfield.AffectedNodes)
	for i := range m.Accounts {
		b = m.Accounts[i].append(b)
	}
	return b.EndArray().UInt8(sfield.TransactionResult, m.Result)
}

func (a *AccountChange) append(b Fields) Fields {
	if a.Created {
		b = b.Open(sfield.CreatedNode).UInt16(sfield.LedgerEntryType, entryAccountRoot).
			Hash(sfield.LedgerIndex, AccountIndex(a.Account)).Open(sfield.NewFields)
		return a.after(b).EndObject().EndObject()
	}
	b = b.Open(sfield.ModifiedNode).UInt16(sfield.LedgerEntryType, entryAccountRoot).
		UInt32(sfield.PreviousTxnLgrSeq, a.LastLedger).Hash(sfield.PreviousTxnID, a.LastTxn).
		Hash(sfield.LedgerIndex, AccountIndex(a.Account)).Open(sfield.PreviousFields)
	if a.Before != a.Sequence {
		b = b.UInt32(sfield.Sequence, a.Before)
	}
	b = b.Drops(sfield.Balance, a.Previous).EndObject().Open(sfield.FinalFields).UInt32(sfield.Flags, 0)
	return a.after(b).EndObject().EndObject()
}

func (a *AccountChange) after(b Fields) Fields {
	b = b.UInt32(sfield.Sequence, a.Sequence)
	if !a.Created {
		b = b.UInt32(sfield.OwnerCount, a.Owned)
	}
	b = b.Drops(sfield.Balance, a.Balance).Account(sfield.Account, a.Account)
	if a.RegularKey != (AccountID{}) {
		b = b.Account(sfield.RegularKey, a.RegularKey)
	}
	return b
}

// AccountIndex returns the index of an account's entry in the state tree.
func AccountIndex(id AccountID) Hash {
	const space = 'a' // of accounts, two bytes
	b := binary.BigEndian.AppendUint16(nil, space)
	return SHA512Half(append(b, id[:]...))
}
