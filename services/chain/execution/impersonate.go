package execution

import (
	"errors"
	"math/big"

	"github.com/ethereum/go-ethereum/common"
	"github.com/ethereum/go-ethereum/core"
	"github.com/ethereum/go-ethereum/core/types"
	"github.com/ethereum/go-ethereum/crypto"
)

// impersonating is a signer that also knows the sender of transactions which Impersonate made.
type impersonating struct{ types.Signer }

// Impersonating returns a signer that takes transactions without a signature for those of the senders
// that they name: for test chains.
func Impersonating(s types.Signer) types.Signer { return impersonating{s} }

// Sender implements types.Signer.
func (s impersonating) Sender(tx *types.Transaction) (common.Address, error) {
	if from, ok := Impersonated(tx); ok {
		return from, nil
	}
	return s.Signer.Sender(tx)
}

// Equal implements types.Signer.
func (s impersonating) Equal(other types.Signer) bool {
	o, ok := other.(impersonating)
	return ok && s.Signer.Equal(o.Signer)
}

// elsewhere is a signer that also knows the senders of other chains' transactions.
type elsewhere struct{ types.Signer }

// Elsewhere returns a signer that also recovers the senders of transactions that were signed for another
// chain: a fork has them in the blocks before it. It is not for transactions that come.
func Elsewhere(s types.Signer) types.Signer { return elsewhere{s} }

// Sender implements types.Signer.
func (s elsewhere) Sender(tx *types.Transaction) (common.Address, error) {
	from, err := s.Signer.Sender(tx)
	if errors.Is(err, types.ErrInvalidChainId) {
		return types.LatestSignerForChainID(tx.ChainId()).Sender(tx)
	}
	return from, err
}

// Equal implements types.Signer.
func (s elsewhere) Equal(other types.Signer) bool {
	o, ok := other.(elsewhere)
	return ok && s.Signer.Equal(o.Signer)
}

// Impersonate returns a transaction of a sender whose key is not known. In place of the signature it
// has the sender, as r, and 1, as s: no signature has these.
func Impersonate(tx *types.Transaction, from common.Address, s types.Signer) (*types.Transaction, error) {
	mark := make([]byte, crypto.SignatureLength)
	copy(mark[12:32], from[:])
	mark[63] = 1
	return tx.WithSignature(s, mark)
}

// Impersonated returns the sender of a transaction that Impersonate made.
func Impersonated(tx *types.Transaction) (common.Address, bool) {
	_, r, s := tx.RawSignatureValues()
	if s == nil || s.Cmp(big.NewInt(1)) != 0 || r.BitLen() > 8*common.AddressLength {
		return common.Address{}, false
	}
	return common.BigToAddress(r), true
}

// Message is a transaction as the EVM executes it. Its account may have code, against EIP-3607, if code is true or
// Impersonate made it.
func Message(tx *types.Transaction, s types.Signer, baseFee *big.Int, code bool) (*core.Message, error) {
	msg, err := core.TransactionToMessage(tx, s, baseFee)
	if err != nil {
		return nil, err
	}
	if _, ok := Impersonated(tx); ok || code {
		msg.SkipEOACheck()
	}
	return msg, nil
}
