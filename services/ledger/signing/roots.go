package signing

import (
	"encoding/binary"
	"fmt"

	"dyno/services/ledger/xrpl"
	"dyno/services/ledger/xrpl/sfield"
)

// Types of ledger entries (LedgerEntryType).
const (
	entryAccountRoot = 0x61
	entryTicket      = 0x54
)

const flagDisableMaster = 0x0010_0000 // of an account: its master key must not sign

// root is the state of an account before a transaction, according to its metadata. If the
// transaction set the first regular key, metadata does not show that there was none before.
type root struct {
	account  xrpl.AccountID
	flags    uint32
	regular  xrpl.AccountID // zero means none
	sequence uint32         // zero where the transaction did not change it
	ticket   bool           // a ticket that the transaction used instead of an account
}

// mayUse reports whether the master key of signer may sign for the account.
func (r *root) mayUse(signer xrpl.AccountID) bool {
	return signer == r.account && r.flags&flagDisableMaster == 0 || signer == r.regular
}

// eachRoot calls visit with the accounts and used tickets whose entries metadata shows in full.
func eachRoot(meta []byte, visit func(*root) error) error {
	var r root
	var found, flags, regular bool // flags, regular: there was a different value before
	err := xrpl.WalkMeta(meta, func(f xrpl.Field, n xrpl.Node) error {
		switch {
		case f.Depth == 1 && f.Opens():
			r, found, flags, regular = root{}, false, false, false
		case f.Depth == 1 && f.Ends() && found:
			return visit(&r)
		case f.Depth != 3 || n.Entry != entryAccountRoot && n.Entry != entryTicket:
		case f.Is(sfield.Account) && len(meta[f.ValueStart:f.End]) == len(xrpl.AccountID{}):
			r.account = xrpl.AccountID(meta[f.ValueStart:f.End])
			r.ticket = n.Entry == entryTicket
			found = n.Part == sfield.FinalFields || n.Part == sfield.NewFields && !r.ticket
		case f.Is(sfield.RegularKey) && !regular && len(meta[f.ValueStart:f.End]) == len(xrpl.AccountID{}):
			r.regular = xrpl.AccountID(meta[f.ValueStart:f.End])
			regular = n.Part == sfield.PreviousFields
		case f.Is(sfield.Flags) && !flags:
			r.flags = binary.BigEndian.Uint32(meta[f.ValueStart:])
			flags = n.Part == sfield.PreviousFields
		case f.Is(sfield.Sequence) && n.Part == sfield.PreviousFields:
			r.sequence = binary.BigEndian.Uint32(meta[f.ValueStart:])
		}
		return nil
	})
	if err != nil {
		return fmt.Errorf("metadata: %w", err)
	}
	return nil
}

// owns checks that metadata belongs to the transaction: it shows the sender and the account that
// signed for the sender, and the sequence or ticket used belongs to the sender.
func (s *signed) owns(meta []byte) error {
	sender, delegate := xrpl.AccountID(s.account), s.signatory()
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

// mayUse checks that a key may sign for an account, as far as the metadata of one or several
// transactions shows the account: the master key, unless it is disabled, or the regular key. Where
// metadata does not show the account, the key may be an unknown regular key.
func mayUse(key []byte, account xrpl.AccountID, metas ...[]byte) error {
	signer := xrpl.KeyAccount(key)
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
