package testchain

import (
	"encoding/json"
	"fmt"
	"math/big"
	"slices"
	"time"

	"github.com/ethereum/go-ethereum/common"
	"github.com/ethereum/go-ethereum/common/hexutil"
	gethstate "github.com/ethereum/go-ethereum/core/state"
	"github.com/ethereum/go-ethereum/core/tracing"
	"github.com/ethereum/go-ethereum/core/types"
	"github.com/holiman/uint256"

	"dyno/services/chain/jsonrpc"
)

// quantity is a number, as JSON has it or as text, hexadecimal or decimal.
type quantity struct{ big.Int }

func (q *quantity) UnmarshalJSON(text []byte) error {
	var s string
	if json.Unmarshal(text, &s) != nil {
		s = string(text)
	}
	n, ok := new(big.Int).SetString(s, 0)
	if !ok || n.Sign() < 0 || n.BitLen() > 256 {
		return fmt.Errorf("%.80s is no number of up to 256 bits", text)
	}
	q.Int = *n
	return nil
}

func (q *quantity) uint64() (uint64, error) {
	if !q.IsUint64() {
		return 0, jsonrpc.Errorf(jsonrpc.InvalidParams, "%v has more than 64 bits", &q.Int)
	}
	return q.Uint64(), nil
}

// run is a call that changes the chain. Its lock is held; do takes back what a call changed that fails.
type run func(c *Chain, params json.RawMessage) (any, error)

// names are the further names of calls. A record that is no method has no underscore in it.
var names = map[string][]string{
	"evm_mine":                           {},
	mineSpaced:                           {"anvil_mine"},
	"hardhat_mine":                       {},
	"evm_snapshot":                       {"anvil_snapshot"},
	"evm_revert":                         {"anvil_revert"},
	"anvil_setBalance":                   {"hardhat_setBalance", "evm_setAccountBalance", "tenderly_setBalance"},
	addBalance:                           {"anvil_addBalance", "hardhat_addBalance", "tenderly_addBalance"},
	"anvil_setCode":                      {"hardhat_setCode", "evm_setAccountCode"},
	"anvil_setNonce":                     {"hardhat_setNonce", "evm_setAccountNonce"},
	"anvil_setStorageAt":                 {"hardhat_setStorageAt"},
	"anvil_impersonateAccount":           {"hardhat_impersonateAccount"},
	"anvil_stopImpersonatingAccount":     {"hardhat_stopImpersonatingAccount"},
	"anvil_autoImpersonateAccount":       {"hardhat_autoImpersonateAccount"},
	"anvil_impersonateSignature":         {},
	increaseTime:                         {"evm_increaseTime", "anvil_increaseTime"},
	"evm_setNextBlockTimestamp":          {"anvil_setNextBlockTimestamp"},
	"evm_setTime":                        {"anvil_setTime"},
	"anvil_setBlockTimestampInterval":    {},
	"anvil_removeBlockTimestampInterval": {"hardhat_removeBlockTimestampInterval"},
	"anvil_setAutomine":                  {"evm_setAutomine"},
	"evm_setIntervalMining":              {"anvil_setIntervalMining"},
	"anvil_setNextBlockBaseFeePerGas":    {"hardhat_setNextBlockBaseFeePerGas"},
	"anvil_setCoinbase":                  {"hardhat_setCoinbase"},
	"anvil_setPrevRandao":                {"hardhat_setPrevRandao", "anvil_setNextBlockPrevRandao"},
	"evm_setBlockGasLimit":               {"anvil_setBlockGasLimit"},
	"anvil_dropTransaction":              {},
	"anvil_dropAllTransactions":          {"hardhat_dropAllTransactions", "debug_clearTxpool"},
	"anvil_removePoolTransactions":       {"hardhat_removePoolTransactions"},
	"anvil_rollback":                     {},
	"anvil_reorg":                        {},
	"anvil_loadState":                    {"hardhat_loadState"},
	"anvil_setChainId":                   {},
	submit:                               nil, // by Submit only
}

// calls are those that change the chain, by the first of their names.
var calls = map[string]run{
	submit:         (*Chain).submitted,
	submitLoose:    (*Chain).submittedLoose,
	submitBefore:   (*Chain).submittedBefore,
	"evm_mine":     (*Chain).mineOne,
	mineSpaced:     (*Chain).mineSpaced,
	"hardhat_mine": (*Chain).mineMany,
	"anvil_mine":   (*Chain).mineMany, // in journals of before
	"evm_snapshot": (*Chain).snapshot,
	"evm_revert":   (*Chain).revert,
	"anvil_setBalance": account(func(db *gethstate.StateDB, of common.Address, n quantity) {
		db.SetBalance(of, uint256.MustFromBig(&n.Int), 0)
	}),
	addBalance: account(func(db *gethstate.StateDB, of common.Address, n quantity) {
		sum, over := new(uint256.Int).AddOverflow(db.GetBalance(of), uint256.MustFromBig(&n.Int))
		if over {
			sum.SetAllOne()
		}
		db.SetBalance(of, sum, 0)
	}),
	"anvil_addBalance": account(func(db *gethstate.StateDB, of common.Address, n quantity) { // in journals of before, where it could overflow
		db.AddBalance(of, uint256.MustFromBig(&n.Int), 0)
	}),
	"anvil_setCode":                      account(func(db *gethstate.StateDB, of common.Address, code hexutil.Bytes) { db.SetCode(of, code, 0) }),
	"anvil_setNonce":                     (*Chain).setNonce,
	"anvil_setStorageAt":                 (*Chain).setStorageAt,
	"anvil_impersonateAccount":           one(func(c *Chain, of common.Address) (any, error) { c.impersonated[of] = true; return nil, nil }),
	"anvil_stopImpersonatingAccount":     one(func(c *Chain, of common.Address) (any, error) { delete(c.impersonated, of); return nil, nil }),
	"anvil_autoImpersonateAccount":       one(func(c *Chain, on bool) (any, error) { c.everybody = on; return nil, nil }),
	"anvil_impersonateSignature":         (*Chain).impersonateSignature,
	increaseTime:                         one((*Chain).increaseTime),
	"evm_increaseTime":                   one((*Chain).increaseTimeBefore), // in journals of before
	"evm_setNextBlockTimestamp":          one((*Chain).setNextBlockTimestamp),
	"evm_setTime":                        one((*Chain).setTime),
	"anvil_setBlockTimestampInterval":    one((*Chain).setStep),
	"anvil_removeBlockTimestampInterval": none(func(c *Chain) (any, error) { had := c.clock.step > 0; c.clock.step = 0; return had, nil }),
	"anvil_setAutomine":                  one((*Chain).setAutomine),
	"evm_setAutomine":                    one((*Chain).setAutomineBefore), // in journals of before
	"evm_setIntervalMining":              one((*Chain).setIntervalMining),
	"anvil_setNextBlockBaseFeePerGas":    one(func(c *Chain, n quantity) (any, error) { c.baseFee = &n.Int; return nil, nil }),
	"anvil_setCoinbase":                  one(func(c *Chain, at common.Address) (any, error) { c.coinbase = at; return nil, nil }),
	"anvil_setPrevRandao":                one(func(c *Chain, n common.Hash) (any, error) { c.random = &n; return nil, nil }),
	"evm_setBlockGasLimit":               one((*Chain).setGasLimit),
	"anvil_dropTransaction":              one((*Chain).dropTransaction),
	"anvil_dropAllTransactions":          none(func(c *Chain) (any, error) { c.pool = nil; return nil, nil }),
	"anvil_removePoolTransactions":       one((*Chain).removeOf),
	"anvil_rollback":                     (*Chain).rollback,
	"anvil_reorg":                        (*Chain).reorg,
	"anvil_reset":                        (*Chain).reset,
	forkRecord:                           (*Chain).fork,
	readOf:                               (*Chain).learn,
	"anvil_setRpcUrl":                    one((*Chain).setURL),
	"anvil_loadState":                    one((*Chain).load),
	"anvil_setChainId":                   one((*Chain).setChainID),
}

// addBalance is the record of anvil_addBalance.
const addBalance = "addBalance"

// one is a call with one parameter.
func one[T any](do func(*Chain, T) (any, error)) run {
	return func(c *Chain, params json.RawMessage) (any, error) {
		var v T
		if err := jsonrpc.Params(params, 1, &v); err != nil {
			return nil, err
		}
		return do(c, v)
	}
}

// none is a call without parameters.
func none(do func(*Chain) (any, error)) run {
	return func(c *Chain, params json.RawMessage) (any, error) {
		if err := jsonrpc.Params(params, 0); err != nil {
			return nil, err
		}
		return do(c)
	}
}

// account is a call that writes to an account.
func account[T any](write func(*gethstate.StateDB, common.Address, T)) run {
	return func(c *Chain, params json.RawMessage) (any, error) {
		var of common.Address
		var v T
		if err := jsonrpc.Params(params, 2, &of, &v); err != nil {
			return nil, err
		}
		return nil, c.write(func(db *gethstate.StateDB) { write(db, of, v) })
	}
}

func (c *Chain) setNonce(params json.RawMessage) (any, error) {
	var of common.Address
	var n quantity
	err := jsonrpc.Params(params, 2, &of, &n)
	if err != nil {
		return nil, err
	}
	nonce, err := n.uint64()
	if err != nil {
		return nil, err
	}
	return nil, c.write(func(db *gethstate.StateDB) { db.SetNonce(of, nonce, tracing.NonceChangeUnspecified) })
}

func (c *Chain) setStorageAt(params json.RawMessage) (any, error) {
	var of common.Address
	var slot quantity
	var value common.Hash
	if err := jsonrpc.Params(params, 3, &of, &slot, &value); err != nil {
		return nil, err
	}
	return true, c.write(func(db *gethstate.StateDB) {
		if !db.Exist(of) {
			db.SetNonce(of, 1, tracing.NonceChangeUnspecified) // an account that has slots only would be removed
		}
		db.SetState(of, common.BigToHash(&slot.Int), value)
	})
}

// snapshot remembers the chain as it is, and answers by what it is brought back.
func (c *Chain) snapshot(params json.RawMessage) (any, error) {
	if err := jsonrpc.Params(params, 0); err != nil {
		return nil, err
	}
	id := c.taken
	c.taken++
	c.snapshots = append(c.snapshots, &snapshot{id, len(c.blocks), c.root, c.forNext, slices.Clone(c.pool)})
	return hexutil.Uint64(id), nil
}

// revert brings back what a snapshot remembers, which is forgotten with those that came later.
func (c *Chain) revert(params json.RawMessage) (any, error) {
	var id quantity
	if err := jsonrpc.Params(params, 1, &id); err != nil {
		return nil, err
	}
	i := slices.IndexFunc(c.snapshots, func(s *snapshot) bool { return id.IsUint64() && s.id == id.Uint64() })
	if i < 0 {
		return false, nil
	}
	s := c.snapshots[i]
	c.snapshots = c.snapshots[:i]
	c.takeBack(s.blocks)
	c.root, c.forNext, c.pool = s.root, s.forNext, s.pool
	c.blocks[len(c.blocks)-1].root = s.root
	c.clock.reset(c.clock.last, c.now) // time goes on from that of the last block
	c.changed()
	return true, nil
}

// changed wakes what makes blocks at intervals.
func (c *Chain) changed() {
	select {
	case c.wake <- struct{}{}:
	default:
	}
}

func (c *Chain) setGasLimit(n quantity) (any, error) {
	limit, err := n.uint64()
	if err == nil {
		c.gasLimit = limit
	}
	return true, err
}

func (c *Chain) setIntervalMining(n quantity) (any, error) {
	if n.Cmp(big.NewInt(1<<32)) > 0 {
		return nil, jsonrpc.Errorf(jsonrpc.InvalidParams, "an interval of %v is too long", &n.Int)
	}
	c.interval = time.Duration(n.Uint64()) * time.Second
	c.manual = c.interval == 0
	c.changed()
	return nil, nil
}

func (c *Chain) dropTransaction(hash common.Hash) (any, error) {
	if c.waiting(hash) == nil {
		return nil, nil
	}
	c.pool = slices.DeleteFunc(c.pool, func(tx *types.Transaction) bool { return tx.Hash() == hash })
	return hash, nil
}

func (c *Chain) removeOf(from common.Address) (any, error) {
	c.pool = slices.DeleteFunc(c.pool, func(tx *types.Transaction) bool { return c.sender(tx) == from })
	return nil, nil
}

// reset begins the chain again, with its genesis.
func (c *Chain) reset(params json.RawMessage) (any, error) {
	var o struct{} // journals of before have it
	if err := jsonrpc.Params(params, 0, &o); err != nil {
		return nil, err
	}
	old := c.blocks
	if err := c.begin(); err != nil {
		return nil, err
	}
	c.reverts.begin(0, old[1:])
	c.changed()
	return nil, nil
}

// setChainID answers for the chain's own id, which is part of its transactions: with another one, those
// in its blocks would have no senders.
func (c *Chain) setChainID(id quantity) (any, error) {
	if own := c.genesis.Config.ChainID; id.Cmp(own) != 0 {
		return nil, jsonrpc.Errorf(jsonrpc.InvalidParams, "the id of this chain is %v, and its transactions are signed for it: serve another folder with --chain-id", own)
	}
	return nil, nil
}
