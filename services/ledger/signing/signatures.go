package signing

import (
	"encoding/binary"
	"fmt"

	"dyno/services/ledger/xrpl"
	"dyno/services/ledger/xrpl/sfield"
)

// Types of transactions without an account, and flags of others.
const (
	kindEnableAmendment = 100
	kindUNLModify       = 102 // and SetFee between them

	flagFullyCanonical = 0x8000_0000 // the sender requires S below half the order
	flagInnerBatch     = 0x4000_0000 // part of a Batch, whose signature covers it
)

// Verify checks the signatures of all transactions of a ledger and returns their number. The
// ledger should have passed xrpl.Verifier. The first failure ends it, with an error that wraps
// ErrSignature, ErrKey or ErrMalformed.
//
// For each signer it also checks that the key may sign for the account, and that the metadata
// belongs to the transaction: both as far as metadata shows the account, which it always does for
// the sender. Amendments, fees and changes of the UNL are written by the validators and have no
// signature. A transaction from a Batch has no signature of its own: the Batch, in the same ledger,
// must contain it byte for byte, and be signed for its sender. Signatures of claims on payment
// channels and of bridges' witnesses are checked, but not counted; those in BatchSigners,
// CounterpartySignature and SponsorSignature are both. Whether several signers are enough, and on
// the account's list, cannot be read from a ledger's transactions.
func Verify(l *xrpl.Ledger, check Checker) (checked int, err error) {
	var v verifier
	for i := range l.Transactions {
		tx := &l.Transactions[i]
		n, err := v.transaction(l, tx, check)
		checked += n
		if err != nil {
			return checked, fmt.Errorf("transaction %v: %w", xrpl.TransactionID(tx.Blob), err)
		}
	}
	return checked, nil
}

// verifier is the memory that the transactions of a ledger share.
type verifier struct{ message []byte }

func (v *verifier) transaction(l *xrpl.Ledger, tx *xrpl.Transaction, check Checker) (checked int, err error) {
	s, err := readSigned(tx.Blob)
	s.closed = closeTime(l)
	switch {
	case err != nil:
		return 0, err
	case s.isPseudo():
		return 0, nil
	}
	if err := s.unsigned(tx.Blob, check); err != nil {
		return 0, err
	}
	if s.flags&flagInnerBatch != 0 && len(s.key) == 0 && len(s.signature) == 0 && !s.several {
		if !holdsInner(l, tx.Blob) {
			return 0, fmt.Errorf("%w: it is unsigned, and no Batch of this ledger holds it", ErrSignature)
		}
		return 0, s.owns(tx.Meta)
	}
	if checked, err = v.sender(tx, &s, check); err == nil {
		err = s.owns(tx.Meta)
	}
	if err == nil && (s.counterSigned || s.sponsored || s.kind == kindBatch) {
		var n int
		n, err = s.nested(l, tx, check)
		checked += n
	}
	return checked, err
}

// sender checks the sender's own signature, or those of several signers for the sender.
func (v *verifier) sender(tx *xrpl.Transaction, s *signed, check Checker) (checked int, err error) {
	a := approval{key: s.key, signature: s.signature, several: s.several}
	prefix := prefixSign
	if s.several {
		prefix = prefixMultiSign
		a.signers, _ = within(tx.Blob, sfield.Signers)
	}
	if v.message, err = appendUnsigned(append(v.message[:0], prefix...), tx.Blob); err != nil {
		return 0, err
	}
	forms := [][]byte{v.message}
	return s.approved(&a, s.signatory(), message{forms, forms}, check, tx.Meta)
}

// signed holds the parts of a transaction that determine its signers.
type signed struct {
	closed            uint32 // close time of the ledger
	kind              uint16
	flags             uint32
	sequence          uint32
	account, delegate []byte
	fee               []byte
	key, signature    []byte
	several           bool // it has Signers, even if empty
	deals             bool // it has amounts or accounts besides its fee and its own account

	ticket                uint32 // in place of the sequence
	counterparty, sponsor []byte

	otherSignature []byte // Signature: of a claim or an attestation
	masterSigned   bool   // MasterSignature is present
	batchSigned    bool   // BatchSigners are present
	counterSigned  bool   // CounterpartySignature is present
	sponsored      bool   // SponsorSignature is present
	publicKey      []byte
	channel        []byte
	amount         []byte
	balance        []byte
}

// readSigned reads a transaction's outermost fields, which must ascend. An unknown field or type of
// transaction is an error, since its required signers are unknown.
func readSigned(blob []byte) (s signed, err error) {
	var ascending xrpl.Ascent
	err = xrpl.Walk(blob, func(f xrpl.Field) error {
		switch {
		case f.Ends():
			return nil
		case xrpl.FieldName(f.Type, f.Code) == "":
			return fmt.Errorf("%w: field %d.%d at byte %d", ErrUnknown, f.Type, f.Code, f.Start)
		case f.Depth > 0:
			return nil
		}
		s.take(f, blob[f.ValueStart:f.End])
		return ascending.Next(f)
	})
	if err == nil && xrpl.TransactionName(int(s.kind)) == "" {
		err = fmt.Errorf("%w: a transaction of type %d", ErrUnknown, s.kind)
	}
	if err == nil && len(s.account) != len(xrpl.AccountID{}) && !s.isPseudo() {
		err = fmt.Errorf("%w: its account has %d bytes, not %d", xrpl.ErrMalformed, len(s.account), len(xrpl.AccountID{}))
	}
	return s, err
}

func (s *signed) take(f xrpl.Field, value []byte) {
	s.deals = s.deals || f.Type == sfield.TypeAccount && !f.Is(sfield.Account) ||
		f.Type == sfield.TypeAmount && !f.Is(sfield.Fee) && f.ID() < sfield.BaseFeeDrops
	switch {
	case f.Is(sfield.TransactionType):
		s.kind = binary.BigEndian.Uint16(value)
	case f.Is(sfield.Flags):
		s.flags = binary.BigEndian.Uint32(value)
	case f.Is(sfield.Sequence):
		s.sequence = binary.BigEndian.Uint32(value)
	case f.Is(sfield.TicketSequence):
		s.ticket = binary.BigEndian.Uint32(value)
	case f.Is(sfield.Fee):
		s.fee = value
	case f.Is(sfield.Signers):
		s.several = true
	case f.Is(sfield.SigningPubKey):
		s.key = value
	case f.Is(sfield.TxnSignature):
		s.signature = value
	case f.Is(sfield.Account):
		s.account = value
	case f.Is(sfield.Delegate):
		s.delegate = value
	case f.Is(sfield.Counterparty):
		s.counterparty = value
	case f.Is(sfield.Sponsor):
		s.sponsor = value
	case f.Is(sfield.Signature):
		s.otherSignature = value
	case f.Is(sfield.PublicKey):
		s.publicKey = value
	case f.Is(sfield.Channel):
		s.channel = value
	case f.Is(sfield.Amount):
		s.amount = value
	case f.Is(sfield.Balance):
		s.balance = value
	case f.Is(sfield.MasterSignature):
		s.masterSigned = true
	case f.Is(sfield.BatchSigners):
		s.batchSigned = true
	case f.Is(sfield.CounterpartySignature):
		s.counterSigned = true
	case f.Is(sfield.SponsorSignature):
		s.sponsored = true
	}
}

// isPseudo reports whether the validators wrote a transaction: one without account, fee and
// sequence. Source: Change::preflight of rippled, unchanged since 2012.
func (s *signed) isPseudo() bool {
	return s.kind >= kindEnableAmendment && s.kind <= kindUNLModify &&
		len(s.key) == 0 && len(s.signature) == 0 && !s.several &&
		(len(s.account) == 0 || string(s.account) == string(make([]byte, len(xrpl.AccountID{})))) &&
		s.sequence == 0 && (s.fee == nil || isNoXRP(s.fee)) && !s.deals
}

func isNoXRP(amount []byte) bool {
	const positive = 1 << 62
	return len(amount) == 8 && binary.BigEndian.Uint64(amount)&^positive == 0
}

// signatory returns the account whose key must have signed.
func (s *signed) signatory() xrpl.AccountID {
	if len(s.delegate) == len(xrpl.AccountID{}) {
		return xrpl.AccountID(s.delegate)
	}
	return xrpl.AccountID(s.account)
}

func (s *signed) check(check Checker, key, message, signature []byte) error {
	if !check.Check(key, message, signature) && (s.closed >= canonicalFrom || !checkEarly(key, message, signature)) {
		return fmt.Errorf("%w: it does not fit the key %X and the transaction", ErrSignature, key)
	}
	if s.flags&flagFullyCanonical == 0 && s.closed < lowFrom || isEd25519(key) {
		return nil
	}
	if _, high, err := parseDER(signature); err != nil || high.IsOverHalfOrder() {
		return fmt.Errorf("%w: its S is above half the order, which the transaction's flags or the ledger's time rule out", ErrSignature)
	}
	return nil
}
