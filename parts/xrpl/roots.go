package xrpl

import (
	"encoding/binary"
	"fmt"
)

const flagDisableMaster = 0x0010_0000 // of an account: its master key signs nothing

// root is an account as a transaction found it, by the transaction's metadata. Where the transaction gave it its first
// regular key, metadata does not say that there was none before.
type root struct {
	account  AccountID
	flags    uint32
	regular  AccountID // zero for none
	sequence uint32    // zero where the transaction did not change it
	ticket   bool      // it is no account, but a ticket of one that the transaction used
}

// mayUse says whether a key, by the account whose master key it is, may sign for the account.
func (r *root) mayUse(signer AccountID) bool {
	return signer == r.account && r.flags&flagDisableMaster == 0 || signer == r.regular
}

// eachRoot calls visit with the accounts, and the tickets that were used, whose entries metadata has whole.
func eachRoot(meta []byte, visit func(*root) error) error {
	var n nodes
	var r root
	var found, flags, regular bool // flags, regular: there was another value before
	err := Walk(meta, func(f Field) error {
		n.enter(f, meta)
		switch {
		case f.Depth == 1 && f.Opens():
			r, found, flags, regular = root{}, false, false, false
		case f.Depth == 1 && f.Ends() && found:
			return visit(&r)
		case f.Depth != 3 || n.entry != entryAccountRoot && n.entry != entryTicket:
		case f.Is(typeAccount, codeAccount) && len(meta[f.ValueStart:f.End]) == accountSize:
			r.account = AccountID(meta[f.ValueStart:f.End])
			r.ticket = n.entry == entryTicket
			found = n.part == codeFinalFields || n.part == codeNewFields && !r.ticket
		case f.Is(typeAccount, codeRegularKey) && !regular && len(meta[f.ValueStart:f.End]) == accountSize:
			r.regular = AccountID(meta[f.ValueStart:f.End])
			regular = n.part == codePreviousFields
		case f.Is(typeUInt32, codeFlags) && !flags:
			r.flags = binary.BigEndian.Uint32(meta[f.ValueStart:])
			flags = n.part == codePreviousFields
		case f.Is(typeUInt32, codeSequence) && n.part == codePreviousFields:
			r.sequence = binary.BigEndian.Uint32(meta[f.ValueStart:])
		}
		return nil
	})
	if err != nil {
		return fmt.Errorf("metadata: %w", err)
	}
	return nil
}

// owns checks that metadata is the transaction's own: that it says what became of the sender and of the account that signed for
// the sender, and that whose sequence or ticket was used is the sender.
func (s *signed) owns(meta []byte) error {
	sender, delegate := AccountID(s.account), s.signatory()
	var seen, seenDelegate bool
	err := eachRoot(meta, func(r *root) error {
		ours := r.account == sender
		seen, seenDelegate = seen || ours && !r.ticket, seenDelegate || r.account == delegate && !r.ticket
		switch {
		case (r.ticket || r.sequence != 0) && !ours:
			return fmt.Errorf("%w: by it, %v sent the transaction, not %v", ErrMetadata, r.account, sender)
		case r.sequence != 0 && s.sequence != 0 && r.sequence != s.sequence:
			return fmt.Errorf("%w: by it, the sender's sequence was %d, not %d", ErrMetadata, r.sequence, s.sequence)
		}
		return nil
	})
	if err == nil && !(seen && seenDelegate) {
		err = fmt.Errorf("%w: it has no AccountRoot of the sender", ErrMetadata)
	}
	return err
}

// mayUse checks that a key is an account's to sign with, as far as metadata of one transaction or several shows the
// account: the master key, unless that is disabled, or the regular key. Where it does not show the account, the key may
// be a regular key that nothing says anything about.
func mayUse(key []byte, account AccountID, metas ...[]byte) error {
	signer := KeyAccount(key)
	seen, allowed := false, false
	for _, meta := range metas {
		err := eachRoot(meta, func(r *root) error {
			if r.account == account && !r.ticket {
				seen, allowed = true, allowed || r.mayUse(signer)
			}
			return nil
		})
		if err != nil {
			return err
		}
	}
	if seen && !allowed {
		return fmt.Errorf("%w: %X is neither the master key, or that is disabled, nor the regular key of %v", ErrKey, key, account)
	}
	return nil
}
