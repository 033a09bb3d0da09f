package xrpl

import (
	"bytes"
	"encoding/binary"
	"fmt"
)

// Kinds of transactions with a signature that its sender does not sign, and that is no signature of the transaction.
const (
	kindChannelClaim  = 15
	kindAttestClaim   = 45 // XChainAddClaimAttestation
	kindAttestAccount = 46 // XChainAddAccountCreateAttestation
	kindBatch         = 71

	// kindsKnown: the transactions below this kind are known to have no unsigned fields but those named here.
	kindsKnown = kindBatch
)

// unsigned checks a transaction's unsigned fields. Its signature says nothing about them, so there must be none where
// the ledger has none, and the signature of a claim on a payment channel has to fit.
func (s *signed) unsigned(check SignatureChecker) error {
	strange := len(s.otherSignature) > 0 && s.kind != kindChannelClaim && s.kind != kindAttestClaim && s.kind != kindAttestAccount
	if s.kind < kindsKnown && (strange || s.otherUnsigned) || s.sponsored && s.closed < sponsorsFrom {
		return fmt.Errorf("%w: a transaction of type %d has no such unsigned fields", ErrMalformed, s.kind)
	}
	if s.kind != kindChannelClaim || len(s.otherSignature) == 0 {
		return nil
	}
	amount := s.amount
	if amount == nil {
		amount = s.balance
	}
	if len(amount) != 8 {
		return fmt.Errorf("%w: the claim on a payment channel is of no XRP", ErrMalformed)
	}
	const positive = 1 << 62
	message := append([]byte(prefixClaim), s.channel...)
	message = binary.BigEndian.AppendUint64(message, binary.BigEndian.Uint64(amount)&^positive)
	if !check.Check(s.publicKey, message, s.otherSignature) {
		return fmt.Errorf("%w: that of the claim on a payment channel does not fit the key %X", ErrSignature, s.publicKey)
	}
	return nil
}

// holdsInner says whether a Batch of the ledger holds a transaction. The Batch's own signature, which is checked with
// all others, covers what it holds.
func holdsInner(l *Ledger, blob []byte) bool {
	typed := Fields(nil).UInt16(codeTransactionType, kindBatch) // always a transaction's first field
	for i := range l.Transactions {
		batch := l.Transactions[i].Blob
		if !bytes.HasPrefix(batch, typed) || !bytes.Contains(batch, blob) { // quick: there may be very many
			continue
		}
		if s, err := readSigned(batch); err != nil || s.flags&flagInnerBatch != 0 {
			continue
		}
		inside, start, found := false, 0, false
		_ = Walk(batch, func(f Field) error { // which readSigned has found well formed
			switch {
			case f.Depth == 0:
				inside = f.Is(typeArray, codeRawTransactions)
			case !inside || f.Depth > 1:
			case f.Is(typeObject, codeRawTransaction):
				start = f.End
			case f.Ends() && bytes.Equal(batch[start:f.Start], blob):
				found = true
				return ErrStop
			}
			return nil
		})
		if found {
			return true
		}
	}
	return false
}
