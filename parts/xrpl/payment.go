package xrpl

import "encoding/binary"

// Payment is a payment of XRP. Amounts are in drops, millionths of an XRP.
type Payment struct {
	Account     AccountID // sender; zero means the account whose master key signs
	Destination AccountID
	Drops, Fee  uint64
	Sequence    uint32
	LastLedger  uint32 // index of the last ledger that may include it; zero means any
	SourceTag   uint32 // zero means none
	Memo        []byte // empty means none
}

// Codes of fields used only in payments.
const (
	kindPayment   = 0
	codeSourceTag = 3  // UInt32
	codeMemos     = 9  // Array
	codeMemo      = 10 // Object
	codeMemoData  = 13 // Blob
)

// Unsigned returns the payment to be signed with a key; nil means several signers.
func (p *Payment) Unsigned(k *Key) Fields {
	var public []byte
	account := p.Account
	if k != nil {
		public = k.public
		if account == (AccountID{}) {
			account = k.Account()
		}
	}
	b := Fields(make([]byte, 0, 256+len(p.Memo))).
		UInt16(codeTransactionType, kindPayment).UInt32(codeFlags, flagFullyCanonical)
	if p.SourceTag != 0 {
		b = b.UInt32(codeSourceTag, p.SourceTag)
	}
	b = b.UInt32(codeSequence, p.Sequence)
	if p.LastLedger != 0 {
		b = b.UInt32(codeLastLedger, p.LastLedger)
	}
	b = b.Drops(codeAmount, p.Drops).Drops(codeFee, p.Fee).Blob(codeSigningPubKey, public).
		Account(codeAccount, account).Account(codeDestination, p.Destination)
	if len(p.Memo) > 0 {
		b = b.Array(codeMemos).Object(codeMemo).Blob(codeMemoData, p.Memo).EndObject().EndArray()
	}
	return b
}

// Sign returns the signed payment.
func (p *Payment) Sign(k *Key) ([]byte, error) { return SignTransaction(p.Unsigned(k), k) }

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

// Codes of fields used only in metadata.
const (
	codePreviousTxnLgrSeq = 5  // UInt32
	codeOwnerCount        = 13 // UInt32
)

// Append appends the metadata.
func (m *Meta) Append(dst []byte) []byte {
	b := Fields(dst).UInt32(codeTransactionIndex, m.Index).Array(codeAffectedNodes)
	for i := range m.Accounts {
		b = m.Accounts[i].append(b)
	}
	return b.EndArray().UInt8(codeTransactionResult, m.Result)
}

func (a *AccountChange) append(b Fields) Fields {
	if a.Created {
		b = b.Object(codeCreatedNode).UInt16(codeLedgerEntryType, entryAccountRoot).
			Hash(codeLedgerIndex, AccountIndex(a.Account)).Object(codeNewFields)
		return a.after(b).EndObject().EndObject()
	}
	b = b.Object(codeModifiedNode).UInt16(codeLedgerEntryType, entryAccountRoot).
		UInt32(codePreviousTxnLgrSeq, a.LastLedger).Hash(codePreviousTxnID, a.LastTxn).
		Hash(codeLedgerIndex, AccountIndex(a.Account)).Object(codePreviousFields)
	if a.Before != a.Sequence {
		b = b.UInt32(codeSequence, a.Before)
	}
	b = b.Drops(codeBalance, a.Previous).EndObject().Object(codeFinalFields).UInt32(codeFlags, 0)
	return a.after(b).EndObject().EndObject()
}

func (a *AccountChange) after(b Fields) Fields {
	b = b.UInt32(codeSequence, a.Sequence)
	if !a.Created {
		b = b.UInt32(codeOwnerCount, a.Owned)
	}
	b = b.Drops(codeBalance, a.Balance).Account(codeAccount, a.Account)
	if a.RegularKey != (AccountID{}) {
		b = b.Account(codeRegularKey, a.RegularKey)
	}
	return b
}

// AccountIndex returns the index of an account's entry in the state tree.
func AccountIndex(id AccountID) Hash {
	const space = 'a' // of accounts, two bytes
	b := binary.BigEndian.AppendUint16(nil, space)
	return half(append(b, id[:]...))
}
