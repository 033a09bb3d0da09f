package evm

import (
	"context"
	"errors"
	"fmt"
	"math/big"

	"github.com/ethereum/go-ethereum/common"
	"github.com/ethereum/go-ethereum/common/hexutil"
	"github.com/ethereum/go-ethereum/core"
	"github.com/ethereum/go-ethereum/core/types"
	"github.com/ethereum/go-ethereum/core/vm"
	"github.com/ethereum/go-ethereum/crypto"
	"github.com/ethereum/go-ethereum/eth/tracers/logger"

	"dyno/services/chain/api"
	"dyno/services/chain/jsonrpc"
)

// accessed is what a transaction accesses, and what it costs if it says so.
type accessed struct {
	AccessList types.AccessList `json:"accessList"`
	Error      string           `json:"error,omitempty"`
	GasUsed    hexutil.Uint64   `json:"gasUsed"`
}

// createAccessList answers the access list (EIP-2930) with which a transaction accesses nothing else.
func (m *methods) createAccessList(ctx context.Context, params []byte) (any, error) {
	s, at := &scene{}, api.Latest()
	var changed accounts
	if err := jsonrpc.Params(params, 1, &s.message, &at, &changed); err != nil {
		return nil, err
	}
	if err := s.message.judgeBlobFee(); err != nil {
		return nil, err
	}
	ctx, done, err := m.begin(ctx)
	if err != nil {
		return nil, err
	}
	defer done()
	if s.db, s.original, err = m.node.State(ctx, at); err != nil {
		return nil, err
	}
	s.header, s.baseFee = s.original, s.original.BaseFee
	s.precompiles = m.precompiles(s)
	if err := changed.apply(s.db, nil); err != nil {
		return nil, err
	}
	if err := m.price(&s.message, s.header.BaseFee); err != nil {
		return nil, err
	}
	if s.message.Nonce == nil {
		nonce := s.db.GetNonce(s.message.From)
		s.message.Nonce = (*hexutil.Uint64)(&nonce)
	}
	if err := s.message.judge(m.chain.Config().ChainID, s.header.BaseFee); err != nil {
		return nil, err
	}
	known := m.known(s)
	for list := logger.NewAccessListTracer(s.message.AccessList, known); ; {
		s.message.AccessList = list.AccessList()
		next := logger.NewAccessListTracer(s.message.AccessList, known)
		result, err := m.access(ctx, s, next)
		if err != nil {
			return nil, err
		}
		if next.Equal(list) {
			out := &accessed{AccessList: s.message.AccessList, GasUsed: hexutil.Uint64(result.UsedGas)}
			if result.Err != nil {
				out.Error = result.Err.Error()
			}
			return out, nil
		}
		list = next
	}
}

// access executes a call over a copy of the state, with a tracer of what it accesses.
func (m *methods) access(ctx context.Context, s *scene, t *logger.AccessListTracer) (*core.ExecutionResult, error) {
	if ctx.Err() != nil {
		return nil, m.aborted(ctx)
	}
	once := *s
	once.db = s.db.Copy()
	msg, env := m.prepare(ctx, &once)
	return m.apply(ctx, &once, msg, env, t.Hooks(), nil, func(err error) error {
		return fmt.Errorf("failed to apply transaction: %v err: %v", s.message.transaction(msg, m.chain.Config().ChainID, s.baseFee != nil).Hash(), err)
	})
}

// known are the addresses that a transaction need not list.
func (m *methods) known(s *scene) map[common.Address]struct{} {
	from := s.message.From
	to := crypto.CreateAddress(from, uint64(*s.message.Nonce))
	if s.message.To != nil {
		to = *s.message.To
	}
	out := map[common.Address]struct{}{from: {}, to: {}}
	config := m.chain.Config()
	for _, at := range vm.ActivePrecompiles(config.Rules(s.header.Number, s.header.Difficulty.Sign() == 0, s.header.Time)) {
		out[at] = struct{}{}
	}
	for _, auth := range s.message.AuthorizationList {
		if !auth.ChainID.IsZero() && auth.ChainID.CmpBig(config.ChainID) != 0 || auth.Nonce+1 < auth.Nonce {
			continue
		}
		if authority, err := auth.Authority(); err == nil {
			out[authority] = struct{}{}
		}
	}
	return out
}

// price completes fees, if a call names any; otherwise gas is free.
func (m *methods) price(msg *message, baseFee *big.Int) error {
	tip, cap := msg.MaxPriorityFeePerGas, msg.MaxFeePerGas
	switch {
	case msg.GasPrice == nil && cap == nil && tip == nil && msg.BlobFeeCap == nil:
		return nil
	case msg.BlobFeeCap != nil && msg.BlobFeeCap.ToInt().Sign() == 0:
		return errors.New("maxFeePerBlobGas, if specified, must be non-zero")
	case msg.GasPrice != nil && (cap != nil || tip != nil):
		return errors.New("both gasPrice and (maxFeePerGas or maxPriorityFeePerGas) specified")
	case msg.GasPrice != nil && msg.AuthorizationList != nil:
		return errors.New("both gasPrice and authorizationList specified")
	case msg.GasPrice != nil && msg.GasPrice.ToInt().Sign() == 0 && baseFee != nil:
		return errors.New("gasPrice must be non-zero after london fork")
	case msg.GasPrice != nil:
		return nil
	case cap != nil && tip != nil && cap.ToInt().Sign() == 0:
		return errors.New("maxFeePerGas must be non-zero")
	case baseFee == nil && (cap != nil && tip != nil):
		return nil // judged later
	case baseFee == nil && (cap != nil || tip != nil):
		return errors.New("maxFeePerGas and maxPriorityFeePerGas are not valid before London is active")
	}
	if tip == nil {
		suggested, err := m.tips.Suggest()
		if err != nil {
			return err
		}
		tip = (*hexutil.Big)(suggested)
	}
	if baseFee == nil {
		msg.GasPrice = tip
		return nil
	}
	if cap == nil {
		twice := new(big.Int).Lsh(baseFee, 1)
		cap = (*hexutil.Big)(twice.Add(twice, tip.ToInt()))
	}
	if cap.ToInt().Cmp(tip.ToInt()) < 0 {
		return fmt.Errorf("maxFeePerGas (%v) < maxPriorityFeePerGas (%v)", cap, tip)
	}
	msg.MaxPriorityFeePerGas, msg.MaxFeePerGas = tip, cap
	return nil
}
