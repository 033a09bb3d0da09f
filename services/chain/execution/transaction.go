package execution

import (
	"errors"
	"fmt"
	"math"
	"math/big"

	"github.com/ethereum/go-ethereum/common"
	"github.com/ethereum/go-ethereum/core"
	"github.com/ethereum/go-ethereum/core/types"
	"github.com/ethereum/go-ethereum/core/vm"
	"github.com/ethereum/go-ethereum/crypto/kzg4844"
	"github.com/ethereum/go-ethereum/params"
	"github.com/holiman/uint256"
)

// Errors for which go-ethereum has no name.
var (
	ErrEmpty       = errors.New("no bytes")
	ErrValue       = errors.New("value exceeds 256 bits")
	ErrFee         = errors.New("fee exceeds 256 bits")
	ErrCost        = errors.New("gas * price exceeds 256 bits")
	ErrBlobSidecar = errors.New("transaction carries its blobs, which belong beside a block")
	ErrBlobVersion = errors.New("blob hash of unknown version")
)

// Judge judges transactions by what one fork of a chain demands of them whatever the state is: the
// form of the bytes, the signature, bounds, and the gas that is due before the first instruction.
// It does not change, and may be used from any goroutine.
type Judge struct {
	rules  params.Rules
	signer types.Signer
}

// NewJudge returns the judge of a chain's block; merged says whether it is of proof of stake.
func NewJudge(config *params.ChainConfig, number *big.Int, merged bool, time uint64) Judge {
	return Judge{rules: config.Rules(number, merged, time), signer: types.MakeSigner(config, number, time)}
}

// Impersonating returns the judge that also knows the sender of transactions which Impersonate made.
func (j Judge) Impersonating() Judge {
	j.signer = Impersonating(j.signer)
	return j
}

// Verdict is what can be said of a valid transaction without the state.
type Verdict struct {
	Sender       common.Address
	IntrinsicGas uint64
}

// DecodeTransaction reads a transaction in its canonical form: a list for a legacy one, otherwise
// its type and a list. Other encodings of the same content are errors, also bytes that follow.
func DecodeTransaction(raw []byte) (*types.Transaction, error) {
	if len(raw) == 0 {
		return nil, ErrEmpty
	}
	tx := new(types.Transaction)
	if err := tx.UnmarshalBinary(raw); err != nil {
		return nil, err
	}
	return tx, nil
}

// Judge returns the sender and the intrinsic gas, or why no state makes the transaction valid on
// this fork.
func (j Judge) Judge(tx *types.Transaction) (Verdict, error) {
	if err := j.bounds(tx); err != nil {
		return Verdict{}, err
	}
	if err := j.blobs(tx); err != nil {
		return Verdict{}, err
	}
	if tx.Type() == types.SetCodeTxType && len(tx.SetCodeAuthorizations()) == 0 {
		return Verdict{}, core.ErrEmptyAuthList
	}
	sender, err := types.Sender(j.signer, tx)
	if err != nil {
		return Verdict{}, err
	}
	gas, err := j.gas(tx, sender)
	if err != nil {
		return Verdict{}, err
	}
	return Verdict{Sender: sender, IntrinsicGas: gas}, nil
}

// Sender is the sender of a transaction that was found valid.
func (j Judge) Sender(tx *types.Transaction) common.Address {
	from, _ := types.Sender(j.signer, tx) // remembered since then
	return from
}

// bounds judges each number for its width and against the others.
func (j Judge) bounds(tx *types.Transaction) error {
	if tx.Nonce() == math.MaxUint64 { // EIP-2681
		return fmt.Errorf("%w: nonce %d", core.ErrNonceMax, tx.Nonce())
	}
	if tx.Value().BitLen() > 256 {
		return ErrValue
	}
	if tx.GasFeeCap().BitLen() > 256 || tx.GasTipCap().BitLen() > 256 {
		return ErrFee
	}
	if cost := new(big.Int).SetUint64(tx.Gas()); cost.Mul(cost, tx.GasFeeCap()).BitLen() > 256 {
		return ErrCost
	}
	if tx.GasFeeCapIntCmp(tx.GasTipCap()) < 0 {
		return fmt.Errorf("%w: maxPriorityFeePerGas: %s, maxFeePerGas: %s", core.ErrTipAboveFeeCap, tx.GasTipCap(), tx.GasFeeCap())
	}
	if limit := uint64(params.MaxTxGas); j.rules.IsOsaka && !j.rules.IsAmsterdam && tx.Gas() > limit { // EIP-7825
		return fmt.Errorf("%w (cap: %d, tx: %d)", core.ErrGasLimitTooHigh, limit, tx.Gas())
	}
	if limit := uint64(params.MaxTxTotalGas); j.rules.IsAmsterdam && tx.Gas() > limit { // EIP-8037
		return fmt.Errorf("%w (cap: %d, tx: %d)", core.ErrGasLimitTooHigh, limit, tx.Gas())
	}
	if tx.To() == nil {
		return vm.CheckMaxInitCodeSize(&j.rules, uint64(len(tx.Data()))) // EIP-3860
	}
	return nil
}

// blobs judges what EIP-4844 adds.
func (j Judge) blobs(tx *types.Transaction) error {
	if tx.Type() != types.BlobTxType {
		return nil
	}
	if tx.BlobTxSidecar() != nil {
		return ErrBlobSidecar
	}
	if len(tx.BlobHashes()) == 0 {
		return core.ErrMissingBlobHashes
	}
	if j.rules.IsOsaka && len(tx.BlobHashes()) > params.BlobTxMaxBlobs {
		return core.ErrTooManyBlobs
	}
	for i, hash := range tx.BlobHashes() {
		if !kzg4844.IsValidVersionedHash(hash[:]) {
			return fmt.Errorf("%w: blob %d", ErrBlobVersion, i)
		}
	}
	return nil
}

// gas returns the intrinsic gas, after holding the transaction's limit against it and against the
// floor of EIP-7623.
func (j Judge) gas(tx *types.Transaction, sender common.Address) (uint64, error) {
	value := uint256.MustFromBig(tx.Value()) // bounds has seen it
	gas, err := core.IntrinsicGas(tx.Data(), tx.AccessList(), tx.SetCodeAuthorizations(), sender, tx.To(), value, j.rules)
	if err != nil {
		return 0, err
	}
	if tx.Gas() < gas {
		return 0, fmt.Errorf("%w: have %d, want %d", core.ErrIntrinsicGas, tx.Gas(), gas)
	}
	if !j.rules.IsPrague {
		return gas, nil
	}
	floor, err := core.FloorDataGas(j.rules, sender, tx.To(), value, tx.Data(), tx.AccessList())
	if err == nil && tx.Gas() < floor {
		err = fmt.Errorf("%w: have %d, want %d", core.ErrFloorDataGas, tx.Gas(), floor)
	}
	return gas, err
}
