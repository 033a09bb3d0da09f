package signing

import (
	"bytes"
	"encoding/binary"
	"fmt"

	"dyno/services/ledger/xrpl"
	"dyno/services/ledger/xrpl/sfield"
)

// maxInner is the maximum number of transactions in a Batch.
const maxInner = 8

// nested checks the signatures of accounts other than the sender. The transaction is well formed.
func (s *signed) nested(l *xrpl.Ledger, tx *xrpl.Transaction, check Checker) (checked int, err error) {
	for _, role := range []struct {
		field        sfield.ID
		name         string
		account      []byte
		one, several string // newer than the sender's own prefixes, which were used before
	}{
		{sfield.CounterpartySignature, "CounterpartySignature", s.counterparty, prefixCounterparty, prefixMultiCounterparty},
		{sfield.SponsorSignature, "SponsorSignature", s.sponsor, prefixSponsor, prefixMultiSponsor},
	} {
		inside, found := within(tx.Blob, role.field)
		if !found {
			continue
		}
		n, err := s.role(inside, role.account, []string{role.one, prefixSign}, []string{role.several, prefixMultiSign}, tx, check)
		checked += n
		if err != nil {
			return checked, fmt.Errorf("%s: %w", role.name, err)
		}
	}
	if s.kind != kindBatch {
		return checked, nil
	}
	n, err := s.batch(l, tx, check)
	return checked + n, err
}

// role checks the object in which another account signs the same fields as the sender.
func (s *signed) role(inside, account []byte, one, several []string, tx *xrpl.Transaction, check Checker) (int, error) {
	a, err := readApproval(inside)
	if err != nil {
		return 0, err
	}
	var fields []byte
	if fields, err = appendUnsigned(nil, tx.Blob); err != nil {
		return 0, err
	}
	var m message
	for i := range one {
		m.one = append(m.one, append([]byte(one[i]), fields...))
		m.several = append(m.several, append([]byte(several[i]), fields...))
	}
	if len(a.account) > 0 || len(account) > 0 && len(account) != len(xrpl.AccountID{}) {
		return 0, fmt.Errorf("%w: an account in it is out of place", xrpl.ErrMalformed)
	}
	var signer xrpl.AccountID
	copy(signer[:], account)
	if a.several { // unlike the sender, this account may be among the signers
		return s.severally(a.signers, xrpl.AccountID{}, m.several, check, [][]byte{tx.Meta})
	}
	return s.approved(&a, signer, m, check, tx.Meta)
}

// batch checks that each account that a Batch acts for, except its sender, is in BatchSigners.
func (s *signed) batch(l *xrpl.Ledger, tx *xrpl.Transaction, check Checker) (checked int, err error) {
	inner, err := readInner(tx.Blob)
	if err != nil {
		return 0, err
	}
	metas := inner.metas(l)
	needs := inner.needs
	delete(needs, xrpl.AccountID(s.account))
	array, _ := within(tx.Blob, sfield.BatchSigners)
	last := make([]byte, len(xrpl.AccountID{}))
	err = eachElement(array, sfield.BatchSigner, func(inside []byte) error {
		a, err := readApproval(inside)
		switch {
		case err != nil:
			return err
		case len(a.account) != len(xrpl.AccountID{}) || bytes.Compare(a.account, last) <= 0:
			return fmt.Errorf("%w: its BatchSigners are not in order", ErrSignature)
		case bytes.Equal(a.account, s.account):
			return fmt.Errorf("%w: its account is among its BatchSigners", ErrSignature)
		}
		last = a.account
		signer := xrpl.AccountID(a.account)
		n, err := s.approved(&a, signer, s.batchMessage(signer, inner.ids), check, metas...)
		if err != nil {
			return fmt.Errorf("BatchSigner %v: %w", signer, err)
		}
		checked += n
		delete(needs, signer)
		return nil
	})
	for missing := range needs {
		if err == nil {
			err = fmt.Errorf("%w: the Batch acts for %v, which is not among its BatchSigners", ErrSignature, missing)
		}
	}
	return checked, err
}

// batchMessage returns the bytes that a BatchSigner signs. The second form is that of the amendment
// Batch, before BatchV1_1 bound the signature to the sender.
func (s *signed) batchMessage(signer xrpl.AccountID, ids []xrpl.Hash) message {
	sequence := s.sequence
	if sequence == 0 {
		sequence = s.ticket
	}
	list := binary.BigEndian.AppendUint32(nil, s.flags)
	list = binary.BigEndian.AppendUint32(list, uint32(len(ids)))
	for _, id := range ids {
		list = append(list, id[:]...)
	}
	bound := append([]byte(prefixBatch), s.account...)
	bound = append(binary.BigEndian.AppendUint32(bound, sequence), list...)
	bound = append(bound, signer[:]...)
	early := append([]byte(prefixBatch), list...)
	return message{one: [][]byte{bound, early}, several: [][]byte{bytes.Clone(bound), bytes.Clone(early)}}
}

type inner struct {
	blobs [][]byte
	ids   []xrpl.Hash
	needs map[xrpl.AccountID]bool // accounts that it acts for
}

func readInner(batch []byte) (in inner, err error) {
	in.needs = map[xrpl.AccountID]bool{}
	array, _ := within(batch, sfield.RawTransactions)
	err = eachElement(array, sfield.RawTransaction, func(blob []byte) error {
		if len(in.blobs) == maxInner {
			return fmt.Errorf("%w: a Batch of more than %d transactions", xrpl.ErrMalformed, maxInner)
		}
		s, err := readSigned(blob)
		if err != nil {
			return err
		}
		if s.isPseudo() || s.kind == kindBatch {
			return fmt.Errorf("%w: a Batch holds no transaction of type %d", xrpl.ErrMalformed, s.kind)
		}
		in.blobs, in.ids = append(in.blobs, blob), append(in.ids, xrpl.TransactionID(blob))
		in.needs[s.signatory()] = true
		if len(s.counterparty) == len(xrpl.AccountID{}) {
			in.needs[xrpl.AccountID(s.counterparty)] = true
		}
		if s.sponsored && len(s.sponsor) == len(xrpl.AccountID{}) {
			in.needs[xrpl.AccountID(s.sponsor)] = true
		}
		return nil
	})
	return in, err
}

// metas returns the metadata of those transactions that the ledger applied.
func (in *inner) metas(l *xrpl.Ledger) (metas [][]byte) {
	for i := range l.Transactions {
		for _, blob := range in.blobs {
			if bytes.Equal(blob, l.Transactions[i].Blob) {
				metas = append(metas, l.Transactions[i].Meta)
			}
		}
	}
	return metas
}

// attestation appends the fields of the transaction that a bridge's witness signs, unchanged.
func attestation(dst, blob []byte) []byte {
	_ = xrpl.Walk(blob, func(f xrpl.Field) error { // blob is well formed
		if f.Depth == 0 && !f.Ends() && isAttested(f.ID()) {
			dst = append(dst, blob[f.Start:f.End]...)
		}
		return nil
	})
	return dst
}

// isAttested reports whether a witness signs the field. Source: AttestationClaim::message and
// AttestationCreateAccount::message of rippled.
func isAttested(id sfield.ID) bool {
	switch id {
	case sfield.XChainClaimID, sfield.XChainAccountCreates, sfield.Amount, sfield.SignatureReward, sfield.Destination,
		sfield.OtherChainSource, sfield.AttestationRewardAccount, sfield.WasLockingChainSend, sfield.XChainBridge:
		return true
	}
	return false
}
