package signing

import (
	"bytes"
	"fmt"
	"slices"

	"dyno/services/ledger/xrpl"
	"dyno/services/ledger/xrpl/sfield"
)

// multiSign adds the signatures of several keys, each for its own account, to a transaction, which
// has an empty SigningPubKey and no signature.
func multiSign(unsigned xrpl.Fields, keys ...*Key) ([]byte, error) {
	if len(keys) == 0 || len(keys) > maxSigners {
		return nil, fmt.Errorf("%d keys are not 1 to %d", len(keys), maxSigners)
	}
	keys = slices.SortedFunc(slices.Values(keys), func(a, b *Key) int {
		x, y := a.Account(), b.Account()
		return bytes.Compare(x[:], y[:])
	})
	signers := xrpl.Fields(nil).Open(sfield.Signers)
	for _, k := range keys {
		id := k.Account()
		data, err := multiSigningData(nil, unsigned, id[:])
		if err != nil {
			return nil, err
		}
		signers = signers.Open(sfield.Signer).Blob(sfield.SigningPubKey, k.public).
			Blob(sfield.TxnSignature, k.Sign(data)).Account(sfield.Account, id).EndObject()
	}
	return unsigned.Insert(sfield.Signers, signers.EndArray())
}

// multiSigningData appends the bytes that one of several signers signs. account20 is the signer's
// account.
func multiSigningData(dst, blob, account20 []byte) ([]byte, error) {
	if len(account20) != len(xrpl.AccountID{}) {
		return dst, fmt.Errorf("%w: an account has %d bytes, this one %d", xrpl.ErrMalformed, len(xrpl.AccountID{}), len(account20))
	}
	dst, err := appendUnsigned(append(dst, prefixMultiSign...), blob)
	return append(dst, account20...), err
}
