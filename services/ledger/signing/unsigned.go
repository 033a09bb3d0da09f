package signing

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"slices"

	"dyno/services/ledger/xrpl"
	"dyno/services/ledger/xrpl/sfield"
)

// Types of transactions with a signature of another account for something else.
const (
	kindChannelClaim  = 15
	kindAttestClaim   = 45 // XChainAddClaimAttestation
	kindAttestAccount = 46 // XChainAddAccountCreateAttestation
	kindBatch         = 71
	kindLoanSet       = 80
)

// unsigned checks the fields that a transaction's signature does not cover: only some types have
// any. The signature of a claim on a payment channel, or of a bridge's witness, must be valid;
// those of other accounts are checked elsewhere.
func (s *signed) unsigned(blob []byte, check Checker) error {
	attests := s.kind == kindAttestClaim || s.kind == kindAttestAccount
	if len(s.otherSignature) > 0 && s.kind != kindChannelClaim && !attests || s.masterSigned ||
		s.batchSigned && s.kind != kindBatch || s.counterSigned && s.kind != kindLoanSet || s.sponsored && s.closed < sponsorsFrom {
		return fmt.Errorf("%w: a transaction of type %d has no such unsigned fields", xrpl.ErrMalformed, s.kind)
	}
	switch {
	case attests && !check.Check(s.publicKey, attestation(nil, blob), s.otherSignature):
		return fmt.Errorf("%w: that of the bridge's witness does not fit the key %X", ErrSignature, s.publicKey)
	case s.kind != kindChannelClaim || len(s.otherSignature) == 0:
		return nil
	}
	amount := s.amount
	if amount == nil {
		amount = s.balance
	}
	if len(amount) != 8 {
		return fmt.Errorf("%w: the claim on a payment channel is not for XRP", xrpl.ErrMalformed)
	}
	const positive = 1 << 62
	message := append([]byte(prefixClaim), s.channel...)
	message = binary.BigEndian.AppendUint64(message, binary.BigEndian.Uint64(amount)&^positive)
	if !check.Check(s.publicKey, message, s.otherSignature) {
		return fmt.Errorf("%w: that of the claim on a payment channel does not fit the key %X", ErrSignature, s.publicKey)
	}
	return nil
}

// holdsInner reports whether a Batch of the ledger contains a transaction. The Batch's own
// signature, which is checked with all others, covers its contents.
func holdsInner(l *xrpl.Ledger, blob []byte) bool {
	typed := xrpl.Fields(nil).UInt16(sfield.TransactionType, kindBatch) // always a transaction's first field
	for i := range l.Transactions {
		batch := l.Transactions[i].Blob
		if !bytes.HasPrefix(batch, typed) || !bytes.Contains(batch, blob) { // quick check: there may be very many
			continue
		}
		s, err := readSigned(batch)
		if err != nil || s.flags&flagInnerBatch != 0 {
			continue
		}
		if in, err := readInner(batch); err == nil && slices.ContainsFunc(in.blobs, func(b []byte) bool { return bytes.Equal(b, blob) }) {
			return true
		}
	}
	return false
}
