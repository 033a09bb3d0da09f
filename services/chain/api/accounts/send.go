package accounts

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math/big"
	"strings"

	"github.com/ethereum/go-ethereum/common"
	"github.com/ethereum/go-ethereum/common/hexutil"
	"github.com/ethereum/go-ethereum/core"
	"github.com/ethereum/go-ethereum/core/txpool"
	"github.com/ethereum/go-ethereum/core/types"

	"dyno/services/chain/api"
	"dyno/services/chain/execution"
	"dyno/services/chain/jsonrpc"
)

// filled is a transaction and its canonical form.
type filled struct {
	Raw hexutil.Bytes      `json:"raw"`
	Tx  *types.Transaction `json:"tx"`
}

func newFilled(tx *types.Transaction) (any, error) {
	raw, err := tx.MarshalBinary()
	return &filled{raw, tx}, err
}

// fillTransaction answers a transaction with what was missing, without a signature.
func (m *methods) fillTransaction(ctx context.Context, params []byte) (any, error) {
	var a arguments
	if err := jsonrpc.Params(params, 1, &a); err != nil {
		return nil, err
	}
	if err := m.fill(ctx, &a); err != nil {
		return nil, err
	}
	return newFilled(a.transaction(m.chainID()))
}

// signTransaction answers a transaction with its signature. Its fees, gas and nonce are the
// client's.
func (m *methods) signTransaction(ctx context.Context, params []byte) (any, error) {
	var a arguments
	if err := jsonrpc.Params(params, 1, &a); err != nil {
		return nil, err
	}
	switch {
	case a.Gas == nil:
		return nil, errors.New("gas not specified")
	case a.GasPrice == nil && (a.MaxPriorityFeePerGas == nil || a.MaxFeePerGas == nil):
		return nil, errors.New("missing gasPrice or maxFeePerGas/maxPriorityFeePerGas")
	case a.Nonce == nil:
		return nil, errors.New("nonce not specified")
	}
	if err := m.fill(ctx, &a); err != nil {
		return nil, err
	}
	h := m.holders[a.From]
	if h == nil {
		return nil, errUnknown
	}
	tx, err := types.SignTx(a.transaction(m.chainID()), m.signer, h.key)
	if err != nil {
		return nil, err
	}
	return newFilled(tx)
}

// attempts bounds how often a transaction gets another nonce: on another node, or from a client with
// the same key, one was accepted in between.
const attempts = 5

// sendTransaction completes, signs and submits a transaction, and answers its hash when it is
// durable.
func (m *methods) sendTransaction(ctx context.Context, params []byte) (any, error) {
	var given arguments
	if err := jsonrpc.Params(params, 1, &given); err != nil {
		return nil, err
	}
	hash, err := m.send(ctx, given)
	if err != nil {
		return nil, err
	}
	m.node.Settle(ctx, hash)
	return hash, nil
}

// sendTransactionSync is sendTransaction that answers the receipt, as eth_sendRawTransactionSync does.
func (m *methods) sendTransactionSync(ctx context.Context, params []byte) (any, error) {
	var given arguments
	var ms *uint64
	if err := jsonrpc.Params(params, 1, &given, &ms); err != nil {
		return nil, err
	}
	hash, err := m.send(ctx, given)
	if err != nil {
		return nil, err
	}
	return m.node.AwaitReceipt(ctx, hash, ms)
}

// holder is that of an account; nil: the node may not use it.
func (m *methods) holder(of common.Address) *holder {
	if h := m.holders[of]; h != nil || m.node.Impersonated == nil || !m.node.Impersonated(of) {
		return h
	}
	return &m.others[int(of[len(of)-1])%len(m.others)]
}

func (m *methods) send(ctx context.Context, given arguments) (hash common.Hash, err error) {
	h := m.holder(given.From)
	if h == nil {
		return hash, errUnknown
	}
	if given.Nonce == nil {
		h.mu.Lock()
		defer h.mu.Unlock()
	}
	for range attempts {
		a := given
		if err := m.fill(ctx, &a); err != nil {
			return hash, err
		}
		tx, err := m.signed(&a, h)
		if err != nil {
			return hash, err
		}
		if hash, err = m.node.SubmitTransaction(ctx, tx); err == nil {
			return hash, nil
		}
		if given.Nonce != nil || !overtaken(err) {
			return hash, api.Refusal(err)
		}
	}
	return hash, fmt.Errorf("others send transactions of %v, too, so that its next nonce does not stay: try again, or name the nonce", given.From)
}

// signed is a complete transaction with a signature, or of an account whose key is not needed.
func (m *methods) signed(a *arguments, h *holder) (*types.Transaction, error) {
	if h.key == nil {
		return execution.Impersonate(a.transaction(m.chainID()), a.From, m.signer)
	}
	return types.SignTx(a.transaction(m.chainID()), m.signer, h.key)
}

// overtaken reports whether a transaction was refused because another one had its nonce. The leader
// of several nodes sends its reason as a text.
func overtaken(err error) bool {
	for _, reason := range []error{core.ErrNonceTooLow, txpool.ErrReplaceUnderpriced, txpool.ErrAlreadyKnown} {
		if strings.Contains(err.Error(), reason.Error()) {
			return true
		}
	}
	return false
}

func (m *methods) chainID() *big.Int { return m.node.Genesis.Config.ChainID }

// fill adds what is missing. Gas is estimated in the block that would be sealed next, so that it is
// right behind transactions that wait.
func (m *methods) fill(ctx context.Context, a *arguments) error {
	head := m.node.States.Head()
	if err := a.judge(m.chainID(), head.BaseFee != nil); err != nil {
		return err
	}
	if err := m.fillFees(ctx, a, head.BaseFee); err != nil {
		return err
	}
	if a.Value == nil {
		a.Value = new(hexutil.Big)
	}
	if a.Nonce == nil {
		nonce, err := m.nonce(ctx, a.From)
		if err != nil {
			return err
		}
		a.Nonce = (*hexutil.Uint64)(&nonce)
	}
	if a.Gas == nil {
		var gas hexutil.Uint64
		if err := m.call(ctx, "eth_estimateGas", &gas, a, "pending"); err != nil {
			return err
		}
		a.Gas = &gas
	}
	a.ChainID = (*hexutil.Big)(m.chainID())
	return nil
}

// fillFees chooses fees by go-ethereum's rule: the suggested tip, and twice the last base fee.
func (m *methods) fillFees(ctx context.Context, a *arguments, baseFee *big.Int) error {
	if a.GasPrice != nil || a.MaxFeePerGas != nil && a.MaxPriorityFeePerGas != nil {
		return nil
	}
	if baseFee == nil {
		a.GasPrice = new(hexutil.Big)
		return m.call(ctx, "eth_gasPrice", a.GasPrice)
	}
	if a.MaxPriorityFeePerGas == nil {
		a.MaxPriorityFeePerGas = new(hexutil.Big)
		if err := m.call(ctx, "eth_maxPriorityFeePerGas", a.MaxPriorityFeePerGas); err != nil {
			return err
		}
	}
	tip := a.MaxPriorityFeePerGas.ToInt()
	if a.MaxFeePerGas == nil {
		twice := new(big.Int).Lsh(baseFee, 1)
		a.MaxFeePerGas = (*hexutil.Big)(twice.Add(twice, tip))
	}
	return a.judge(m.chainID(), true)
}

// nonce is the next one of an account, after all of its transactions that wait.
func (m *methods) nonce(ctx context.Context, of common.Address) (uint64, error) {
	if nonce, ok := m.node.Pool.Nonce(of); ok {
		return nonce, nil
	}
	db, _, err := m.node.State(ctx, api.Latest())
	if err != nil {
		return 0, err
	}
	return db.GetNonce(of), db.Error()
}

// call calls one of the node's methods.
func (m *methods) call(ctx context.Context, method string, into any, params ...any) error {
	text, err := json.Marshal(append([]any{}, params...))
	if err != nil {
		return err
	}
	answer, err := m.ask[method](ctx, text)
	if err != nil {
		return err
	}
	if text, err = json.Marshal(answer); err != nil {
		return err
	}
	return json.Unmarshal(text, into)
}
