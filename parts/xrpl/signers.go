package xrpl

import (
	"bytes"
	"fmt"
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
	var ascending ascent
	begin := 0
	err = Walk(b, func(f Field) error {
		value := b[f.ValueStart:f.End]
		switch {
		case f.Depth > 0: // eachElement reads it
			return nil
		case f.Ends():
			a.signers = b[begin:f.Start]
			return nil
		case f.Is(typeArray, codeSigners):
			a.several, begin = true, f.End
		case f.Is(typeAccount, codeAccount):
			a.account = value
		case f.Is(typeBlob, codeSigningPubKey):
			a.key = value
		case f.Is(typeBlob, codeTxnSignature):
			a.signature = value
		default:
			return f.malformed("there is no such field beside a signature")
		}
		return ascending.next(f)
	})
	return a, err
}

// eachElement calls visit with the contents of each element of an array, all of one code.
func eachElement(array []byte, code int, visit func(inside []byte) error) error {
	begin := 0
	return Walk(array, func(f Field) error {
		switch {
		case f.Depth > 0:
			return nil
		case f.Ends():
			return visit(array[begin:f.Start])
		case !f.Is(typeObject, code):
			return f.malformed("the array holds no such objects")
		}
		begin = f.End
		return nil
	})
}

// within returns the contents of the outermost object or array with a code. blob is well formed.
func within(blob []byte, kind, code int) (inside []byte, found bool) {
	_ = Walk(blob, func(f Field) error {
		switch {
		case f.Depth > 0:
		case f.Is(kind, code):
			inside, found = blob[f.End:], true
		case f.Ends() && found:
			inside = inside[:len(inside)-len(blob[f.Start:])]
			return ErrStop
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
func (s *signed) approved(a *approval, account AccountID, m message, check SignatureChecker, metas ...[]byte) (checked int, err error) {
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
	if account == (AccountID{}) {
		return 1, nil
	}
	return 1, mayUse(a.key, account, metas...)
}

// severally checks the elements of Signers.
func (s *signed) severally(signers []byte, account AccountID, forms [][]byte, check SignatureChecker, metas [][]byte) (checked int, err error) {
	for i := range forms {
		forms[i] = append(forms[i], make([]byte, accountSize)...)
	}
	last := make([]byte, accountSize) // the zero account cannot sign
	err = eachElement(signers, codeSigner, func(inside []byte) error {
		one, err := readApproval(inside)
		switch {
		case err != nil:
			return err
		case one.several || len(one.account) != accountSize || bytes.Compare(one.account, last) <= 0:
			return fmt.Errorf("%w: its signers are not in order", ErrSignature)
		case AccountID(one.account) == account:
			return fmt.Errorf("%w: its account is among its own signers", ErrSignature)
		case checked == maxSigners:
			return fmt.Errorf("%w: more than %d signers", ErrSignature, maxSigners)
		}
		last = one.account
		for _, form := range forms {
			copy(form[len(form)-accountSize:], one.account)
		}
		if err = s.fits(check, &one, forms); err == nil {
			err = mayUse(one.key, AccountID(one.account), metas...)
		}
		if err != nil {
			return fmt.Errorf("signer %v: %w", AccountID(one.account), err)
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
func (s *signed) fits(check SignatureChecker, a *approval, forms [][]byte) (err error) {
	for _, form := range forms {
		if err = s.check(check, a.key, form, a.signature); err == nil {
			return nil
		}
	}
	return err
}
