package signing

import (
	"bytes"
	"fmt"

	"dyno/services/ledger/xrpl"
	"dyno/services/ledger/xrpl/sfield"
)

const maxSigners = 32 // in a SignerList

// approval is a place that holds a signature, or several: the transaction itself, or an object in
// it, such as a CounterpartySignature or an element of Signers or BatchSigners.
type approval struct {
	account, key, signature []byte
	several                 bool   // it has Signers, even if empty
	signers                 []byte // the elements of Signers
}

// readApproval reads the fields of an object. Others are refused: its signatures cover none.
func readApproval(b []byte) (a approval, err error) {
	var ascending xrpl.Ascent
	begin := 0
	err = xrpl.Walk(b, func(f xrpl.Field) error {
		value := b[f.ValueStart:f.End]
		switch {
		case f.Depth > 0: // eachElement reads it
			return nil
		case f.Ends():
			a.signers = b[begin:f.Start]
			return nil
		case f.Is(sfield.Signers):
			a.several, begin = true, f.End
		case f.Is(sfield.Account):
			a.account = value
		case f.Is(sfield.SigningPubKey):
			a.key = value
		case f.Is(sfield.TxnSignature):
			a.signature = value
		default:
			return f.Malformed("there is no such field beside a signature")
		}
		return ascending.Next(f)
	})
	return a, err
}

// eachElement calls visit with the contents of each element of an array, all of one field.
func eachElement(array []byte, id sfield.ID, visit func(inside []byte) error) error {
	begin := 0
	return xrpl.Walk(array, func(f xrpl.Field) error {
		switch {
		case f.Depth > 0:
			return nil
		case f.Ends():
			return visit(array[begin:f.Start])
		case !f.Is(id):
			return f.Malformed("the array holds no such objects")
		}
		begin = f.End
		return nil
	})
}

// within returns the contents of an outermost object or array. blob is well formed.
func within(blob []byte, id sfield.ID) (inside []byte, found bool) {
	_ = xrpl.Walk(blob, func(f xrpl.Field) error {
		switch {
		case f.Depth > 0:
		case f.Is(id):
			inside, found = blob[f.End:], true
		case f.Ends() && found:
			inside = inside[:len(inside)-len(blob[f.Start:])]
			return xrpl.ErrStop
		}
		return nil
	})
	return inside, found
}

// message is the signed bytes, in each form that the network has used. Each of several signers
// signs one of the second kind, followed by its own account.
type message struct{ one, several [][]byte }

// approved checks an approval of a message for an account (zero: unknown) and counts signatures; a
// transaction does not show whether several are enough. metas may show accounts.
func (s *signed) approved(a *approval, account xrpl.AccountID, m message, check Checker, metas ...[]byte) (checked int, err error) {
	switch {
	case a.several && (len(a.key) > 0 || len(a.signature) > 0):
		return 0, fmt.Errorf("%w: signed both by one and by several", ErrSignature)
	case a.several:
		return s.severally(a.signers, account, m.several, check, metas)
	case len(a.key) == 0:
		return 0, fmt.Errorf("%w: it is unsigned", ErrSignature)
	}
	if err := s.fits(check, a, m.one); err != nil {
		return 0, err
	}
	if account == (xrpl.AccountID{}) {
		return 1, nil
	}
	return 1, mayUse(a.key, account, metas...)
}

// severally checks the elements of Signers.
func (s *signed) severally(signers []byte, account xrpl.AccountID, forms [][]byte, check Checker, metas [][]byte) (checked int, err error) {
	for i := range forms {
		forms[i] = append(forms[i], make([]byte, len(xrpl.AccountID{}))...)
	}
	last := make([]byte, len(xrpl.AccountID{})) // the zero account cannot sign
	err = eachElement(signers, sfield.Signer, func(inside []byte) error {
		one, err := readApproval(inside)
		switch {
		case err != nil:
			return err
		case one.several || len(one.account) != len(xrpl.AccountID{}) || bytes.Compare(one.account, last) <= 0:
			return fmt.Errorf("%w: its signers are not in order", ErrSignature)
		case xrpl.AccountID(one.account) == account:
			return fmt.Errorf("%w: its account is among its own signers", ErrSignature)
		case checked == maxSigners:
			return fmt.Errorf("%w: more than %d signers", ErrSignature, maxSigners)
		}
		last = one.account
		for _, form := range forms {
			copy(form[len(form)-len(xrpl.AccountID{}):], one.account)
		}
		if err = s.fits(check, &one, forms); err == nil {
			err = mayUse(one.key, xrpl.AccountID(one.account), metas...)
		}
		if err != nil {
			return fmt.Errorf("signer %v: %w", xrpl.AccountID(one.account), err)
		}
		checked++
		return nil
	})
	if err == nil && checked == 0 {
		err = fmt.Errorf("%w: it has no signers", ErrSignature)
	}
	return checked, err
}

// fits checks that a signature matches a message in any of its forms.
func (s *signed) fits(check Checker, a *approval, forms [][]byte) (err error) {
	for _, form := range forms {
		if err = s.check(check, a.key, form, a.signature); err == nil {
			return nil
		}
	}
	return err
}
