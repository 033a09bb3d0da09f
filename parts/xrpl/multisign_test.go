package xrpl

import (
	"bytes"
	"fmt"
	"slices"
)

// multiSign adds the signatures of several keys, each for its own account, to a transaction, which
// has an empty SigningPubKey and no signature.
func multiSign(unsigned Fields, keys ...*Key) ([]byte, error) {
	if len(keys) == 0 || len(keys) > maxSigners {
		return nil, fmt.Errorf("%d keys are not 1 to %d", len(keys), maxSigners)
	}
	keys = slices.SortedFunc(slices.Values(keys), func(a, b *Key) int {
		x, y := a.Account(), b.Account()
		return bytes.Compare(x[:], y[:])
	})
	signers := Fields(nil).Array(codeSigners)
	for _, k := range keys {
		id := k.Account()
		data, err := multiSigningData(nil, unsigned, id[:])
		if err != nil {
			return nil, err
		}
		signers = signers.Object(codeSigner).Blob(codeSigningPubKey, k.public).
			Blob(codeTxnSignature, k.Sign(data)).Account(codeAccount, id).EndObject()
	}
	at, err := unsigned.place(typeArray, codeSigners)
	if err != nil {
		return nil, err
	}
	return slices.Insert(slices.Clone(unsigned), at, signers.EndArray()...), nil
}

// multiSigningData appends the bytes that one of several signers signs. account20 is the signer's
// account.
func multiSigningData(dst, blob, account20 []byte) ([]byte, error) {
	if len(account20) != accountSize {
		return dst, fmt.Errorf("%w: an account has %d bytes, this one %d", ErrMalformed, accountSize, len(account20))
	}
	dst, err := appendUnsigned(append(dst, prefixMultiSign...), blob)
	return append(dst, account20...), err
}
