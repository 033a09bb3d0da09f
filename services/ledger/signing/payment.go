package signing

import (
	"dyno/services/ledger/xrpl"
	"dyno/services/ledger/xrpl/sfield"
)

// Payment is a payment of XRP. Amounts are in drops, millionths of an XRP.
type Payment struct {
	Account     xrpl.AccountID // sender; zero means the account whose master key signs
	Destination xrpl.AccountID
	Drops, Fee  uint64
	Sequence    uint32
	LastLedger  uint32 // index of the last ledger that may include it; zero means any
	SourceTag   uint32 // zero means none
	Memo        []byte // empty means none
}

const kindPayment = 0

// Unsigned returns the payment to be signed with a key; nil means several signers.
func (p *Payment) Unsigned(k *Key) xrpl.Fields {
	var public []byte
	account := p.Account
	if k != nil {
		public = k.public
		if account == (xrpl.AccountID{}) {
			account = k.Account()
		}
	}
	b := xrpl.Fields(make([]byte, 0, 256+len(p.Memo))).
		UInt16(sfield.TransactionType, kindPayment).UInt32(sfield.Flags, flagFullyCanonical)
	if p.SourceTag != 0 {
		b = b.UInt32(sfield.SourceTag, p.SourceTag)
	}
	b = b.UInt32(sfield.Sequence, p.Sequence)
	if p.LastLedger != 0 {
		b = b.UInt32(sfield.LastLedgerSequence, p.LastLedger)
	}
	b = b.Drops(sfield.Amount, p.Drops).Drops(sfield.Fee, p.Fee).Blob(sfield.SigningPubKey, public).
		Account(sfield.Account, account).Account(sfield.Destination, p.Destination)
	if len(p.Memo) > 0 {
		b = b.Open(sfield.Memos).Open(sfield.Memo).Blob(sfield.MemoData, p.Memo).EndObject().EndArray()
	}
	return b
}

// Sign returns the signed payment.
func (p *Payment) Sign(k *Key) ([]byte, error) { return SignTransaction(p.Unsigned(k), k) }
