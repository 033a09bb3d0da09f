package api

import (
	"context"
	"encoding/hex"
	"errors"

	"github.com/ethereum/go-ethereum/common"
	"github.com/ethereum/go-ethereum/common/hexutil"

	"dyno/services/chain/jsonrpc"
	"dyno/services/chain/node"
)

// Together returns the methods of which calls in an array are run in one go, for jsonrpc.Options:
// all transactions of an array become durable together.
func Together(b Backend) map[string]func(context.Context, []jsonrpc.Call) {
	m := methods{Backend: b}
	return map[string]func(context.Context, []jsonrpc.Call){"eth_sendRawTransaction": m.sendRawTransactions}
}

// sendRawTransaction answers the hash of a transaction that is accepted and durable.
func (m methods) sendRawTransaction(ctx context.Context, params []byte) (any, error) {
	raw, err := rawParam(params)
	if err != nil {
		return nil, err
	}
	done := m.Pool.Submit(ctx, [][]byte{raw})[0]
	if done.Err != nil {
		return nil, Refusal(done.Err)
	}
	m.Settle(ctx, done.Hash)
	return hexOf(done.Hash), nil
}

func (m methods) sendRawTransactions(ctx context.Context, calls []jsonrpc.Call) {
	raws := make([][]byte, 0, len(calls))
	sent := make([]*jsonrpc.Call, 0, len(calls))
	for i := range calls {
		raw, err := rawParam(calls[i].Params)
		if err != nil {
			calls[i].Error = jsonrpc.AsError(err)
			continue
		}
		raws, sent = append(raws, raw), append(sent, &calls[i])
	}
	all := m.Pool.Submit(ctx, raws)
	for i, done := range all {
		if done.Err != nil {
			sent[i].Error = Refusal(done.Err)
			continue
		}
		sent[i].Result = hexOf(done.Hash)
	}
	if m.BlockWait > 0 { // for all of them together
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeout(ctx, m.BlockWait)
		defer cancel()
	}
	for _, done := range all {
		if done.Err == nil && ctx.Err() == nil {
			m.Settle(ctx, done.Hash)
		}
	}
}

// Refusal is why the node refused a transaction or a read of what is pending, with a code.
func Refusal(err error) *jsonrpc.Error {
	switch {
	case errors.Is(err, node.ErrOverloaded), errors.Is(err, node.ErrPending):
		return &jsonrpc.Error{Code: jsonrpc.LimitExceeded, Message: err.Error()}
	case errors.Is(err, node.ErrFailed):
		return &jsonrpc.Error{Code: jsonrpc.InternalError, Message: err.Error()}
	}
	return jsonrpc.AsError(err)
}

// rawParam reads the only parameter of eth_sendRawTransaction into new memory, which the pool may
// keep.
func rawParam(params []byte) ([]byte, error) {
	text, err := jsonrpc.OneString(params)
	if err != nil {
		return nil, err
	}
	if len(text) < 2 || text[0] != '0' || text[1]|0x20 != 'x' {
		return nil, noBytes(hexutil.ErrMissingPrefix)
	}
	if len(text)%2 != 0 {
		return nil, noBytes(hexutil.ErrOddLength)
	}
	raw := make([]byte, len(text)/2-1)
	if _, err := hex.Decode(raw, text[2:]); err != nil {
		return nil, noBytes(hexutil.ErrSyntax)
	}
	return raw, nil
}

// noBytes is the error of a parameter that is no hexadecimal, in the words of encoding/json over hexutil.
func noBytes(why error) error {
	return jsonrpc.Errorf(jsonrpc.InvalidParams, "invalid argument 0: json: cannot unmarshal %v into Go value of type hexutil.Bytes", why)
}

// hexOf is Hex of a hash with one allocation instead of two.
func hexOf(h common.Hash) string {
	text := [2 + 2*common.HashLength]byte{'0', 'x'}
	hex.Encode(text[2:], h[:])
	return string(text[:])
}
