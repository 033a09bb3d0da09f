package testchain

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"

	"github.com/ethereum/go-ethereum/common"
	"github.com/ethereum/go-ethereum/common/hexutil"
	"github.com/ethereum/go-ethereum/core"
	gethstate "github.com/ethereum/go-ethereum/core/state"
	"github.com/ethereum/go-ethereum/core/txpool"
	"github.com/ethereum/go-ethereum/core/types"

	"dyno/services/chain/execution"
	"dyno/services/chain/node"
)

// Bounds of the transactions that wait.
const (
	mostWaiting = 1 << 14
	largest     = 128 << 10 // bytes of one
)

// Submit implements api.Pool. Unless blocks are made by hand or by the clock, each transaction is in a
// block when this returns.
func (c *Chain) Submit(ctx context.Context, raws [][]byte) []node.Submitted {
	out := make([]node.Submitted, len(raws))
	for i, raw := range raws {
		params, err := json.Marshal([]hexutil.Bytes{raw})
		if err == nil && c.o.Reachable {
			err = signed(raw)
		}
		if err != nil {
			out[i].Err = err
			continue
		}
		result, err := c.do(ctx, submit, params)
		if out[i].Err = err; err == nil {
			out[i].Hash = result.(common.Hash)
		}
	}
	return out
}

// signed refuses the mark that stands in place of a signature.
func signed(raw []byte) error {
	tx, err := execution.DecodeTransaction(raw)
	if err != nil {
		return err
	}
	if _, ok := execution.Impersonated(tx); ok {
		return types.ErrInvalidSig
	}
	return nil
}

// Records of a transaction.
const (
	submit       = "sent"
	submitLoose  = "transaction" // in journals of the time before settings.strict
	submitBefore = "submit"      // in those of the time when one behind a gap made an empty block, too
)

func (c *Chain) submitted(params json.RawMessage) (any, error) {
	c.strict = true
	return c.submittedLoose(params)
}

func (c *Chain) submittedLoose(params json.RawMessage) (any, error) {
	tx, err := c.take(params)
	if err != nil {
		return nil, err
	}
	db, err := c.db()
	if err != nil {
		return nil, err
	}
	if behindAGap := tx.Nonce() >= c.nonce(db, c.pool, c.sender(tx)); behindAGap || !c.automines() {
		return tx.Hash(), nil
	}
	if err := c.mine(); err != nil {
		return nil, err
	}
	if why := c.refused[tx.Hash()]; c.strict && why != nil {
		return nil, why // it could wait forever, and what the account sends next behind it
	}
	return tx.Hash(), nil
}

func (c *Chain) submittedBefore(params json.RawMessage) (any, error) {
	_, err := c.take(params)
	if err == nil && c.automines() {
		err = c.mine()
	}
	return nil, err
}

func (c *Chain) automines() bool { return !c.manual && c.interval == 0 }

// setAutomine is the record of anvil_setAutomine.
const setAutomine = "anvil_setAutomine"

// setAutomine has each transaction mined, and with it, as anvil does, what waits already.
func (c *Chain) setAutomine(on bool) (any, error) {
	c.setAutomineBefore(on)
	if !on {
		return nil, nil
	}
	db, err := c.db()
	if err != nil {
		return nil, err
	}
	if executable, _ := c.content(db, c.pool); len(executable) > 0 {
		return nil, c.mine()
	}
	return nil, nil
}

// setAutomineBefore is what the call did before it mined what waits: journals have such records.
func (c *Chain) setAutomineBefore(on bool) (any, error) {
	c.manual, c.interval = !on, 0
	c.changed()
	return nil, nil
}

// take decodes and accepts the one transaction of a record.
func (c *Chain) take(params json.RawMessage) (*types.Transaction, error) {
	tx, err := decoded(params)
	if err != nil {
		return nil, err
	}
	return tx, c.accept(tx, int(tx.Size()))
}

// decoded returns the one transaction of a record.
func decoded(params json.RawMessage) (*types.Transaction, error) {
	var raws []hexutil.Bytes
	if err := json.Unmarshal(params, &raws); err != nil || len(raws) != 1 {
		return nil, errors.New("one transaction is expected")
	}
	return execution.DecodeTransaction(raws[0])
}

// accept judges a transaction and has it wait.
func (c *Chain) accept(tx *types.Transaction, size int) error {
	db, err := c.db()
	if err != nil {
		return err
	}
	replaced, err := c.judge(db, tx, size)
	switch {
	case err != nil:
		return err
	case replaced >= 0:
		c.pool[replaced] = tx
	default:
		c.pool = append(c.pool, tx)
	}
	c.announce(tx)
	return nil
}

// judge returns why a transaction may not wait, or the place of the one that it replaces; -1: it replaces
// none. Its account is read.
func (c *Chain) judge(db *gethstate.StateDB, tx *types.Transaction, size int) (replaced int, err error) {
	from, err := types.Sender(c.signer(), tx)
	if err != nil {
		return -1, err
	}
	if as, ok := execution.Impersonated(tx); ok && !c.mayBe(as) {
		return -1, types.ErrInvalidSig
	}
	head := c.head()
	db.GetBalance(from)
	_, mined := c.index[tx.Hash()]
	switch {
	case db.Error() != nil: // of a fork, whose origin does not answer
		return -1, db.Error()
	case mined || c.waiting(tx.Hash()) != nil:
		return -1, txpool.ErrAlreadyKnown
	case tx.Type() == types.BlobTxType:
		return -1, core.ErrTxTypeNotSupported
	case size > largest:
		return -1, fmt.Errorf("%w: transaction size %v, limit %v", txpool.ErrOversizedData, size, largest)
	case tx.Gas() > c.limit():
		return -1, txpool.ErrGasLimit
	case tx.Nonce() < db.GetNonce(from):
		return -1, fmt.Errorf("%w: next nonce %v, tx nonce %v", core.ErrNonceTooLow, db.GetNonce(from), tx.Nonce())
	case db.GetBalance(from).ToBig().Cmp(tx.Cost()) < 0:
		return -1, fmt.Errorf("%w: balance %v, tx cost %v", core.ErrInsufficientFunds, db.GetBalance(from), tx.Cost())
	case len(c.pool) >= mostWaiting:
		return -1, errors.New("txpool is full")
	}
	next, err := c.header(head.Time)
	if err != nil {
		return -1, err
	}
	if next.BaseFee != nil && tx.GasFeeCapIntCmp(next.BaseFee) < 0 {
		return -1, fmt.Errorf("%w: address %v, maxFeePerGas: %v, baseFee: %v", core.ErrFeeCapTooLow, from, tx.GasFeeCap(), next.BaseFee)
	}
	if _, ok := execution.Impersonated(tx); !ok || c.strict {
		if _, err := execution.NewJudge(c.genesis.Config, next.Number, true, next.Time).Impersonating().Judge(tx); err != nil {
			return -1, err
		}
	}
	for i, other := range c.pool {
		if other.Nonce() == tx.Nonce() && c.sender(other) == from {
			if tx.GasFeeCapCmp(other) <= 0 {
				return -1, txpool.ErrReplaceUnderpriced
			}
			return i, nil
		}
	}
	return -1, nil
}

// announce shows an accepted transaction to those who follow.
func (c *Chain) announce(tx *types.Transaction) {
	c.accepted = append(c.accepted, tx.Hash())
	close(c.more)
	c.more = make(chan struct{})
}

// mayBe reports whether an account may be used without its key. What is in the journal was accepted.
func (c *Chain) mayBe(as common.Address) bool {
	return c.opening || c.everybody || c.impersonated[as] || c.lent[as] > 0
}

// Lend implements api.Backend's: an account may be used without its key, for a call, until the caller calls the
// function.
func (c *Chain) Lend(of common.Address) (back func()) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.lent[of]++
	return func() {
		c.mu.Lock()
		defer c.mu.Unlock()
		if c.lent[of]--; c.lent[of] == 0 {
			delete(c.lent, of)
		}
	}
}

func (c *Chain) waiting(hash common.Hash) *types.Transaction {
	for _, tx := range c.pool {
		if tx.Hash() == hash {
			return tx
		}
	}
	return nil
}

// Impersonated implements api.Backend's: it reports whether an account may be used without its key.
func (c *Chain) Impersonated(of common.Address) bool {
	c.mu.RLock()
	defer c.mu.RUnlock()
	return c.mayBe(of)
}

// Named implements api.Backend's: the accounts that were named to be impersonated, in their order.
func (c *Chain) Named() []common.Address {
	c.mu.RLock()
	defer c.mu.RUnlock()
	return slices.SortedFunc(maps.Keys(c.impersonated), common.Address.Cmp)
}

// Waiting implements api.Pool.
func (c *Chain) Waiting(hash common.Hash) *types.Transaction {
	c.mu.RLock()
	defer c.mu.RUnlock()
	return c.waiting(hash)
}

// Nonce implements api.Pool.
func (c *Chain) Nonce(of common.Address) (uint64, bool) {
	db, pool, err := c.view()
	if err != nil {
		return 0, false
	}
	nonce := c.nonce(db, pool, of)
	return nonce, db.Error() == nil
}

// view is the state after the last block and what was written since, and what waits, to be read without the
// lock: the origin of a fork may be slow.
func (c *Chain) view() (*gethstate.StateDB, []*types.Transaction, error) {
	c.mu.RLock()
	root, states, pool := c.root, c.states, slices.Clone(c.pool)
	c.mu.RUnlock()
	db, err := gethstate.New(root, states)
	return db, pool, err
}

// nonce is that after the transactions of an account that wait without a gap.
func (c *Chain) nonce(db *gethstate.StateDB, pool []*types.Transaction, of common.Address) uint64 {
	waits := map[uint64]bool{}
	for _, tx := range pool {
		if c.sender(tx) == of {
			waits[tx.Nonce()] = true
		}
	}
	return behind(db.GetNonce(of), waits)
}

// behind is the first nonce from one on that does not wait.
func behind(next uint64, waits map[uint64]bool) uint64 {
	for waits[next] {
		next++
	}
	return next
}

// Content implements api.Pool.
func (c *Chain) Content() (executable, queued map[common.Address]types.Transactions) {
	db, pool, err := c.view()
	if err != nil {
		return map[common.Address]types.Transactions{}, map[common.Address]types.Transactions{}
	}
	return c.content(db, pool)
}

// content divides transactions that wait into what is not behind a gap and what is.
func (c *Chain) content(db *gethstate.StateDB, pool []*types.Transaction) (executable, queued map[common.Address]types.Transactions) {
	executable, queued = map[common.Address]types.Transactions{}, map[common.Address]types.Transactions{}
	waits, next := map[common.Address]map[uint64]bool{}, map[common.Address]uint64{}
	for _, tx := range pool {
		from := c.sender(tx)
		if waits[from] == nil {
			waits[from] = map[uint64]bool{}
		}
		waits[from][tx.Nonce()] = true
	}
	for from, nonces := range waits {
		next[from] = behind(db.GetNonce(from), nonces)
	}
	for _, tx := range pool {
		into, from := executable, c.sender(tx)
		if tx.Nonce() >= next[from] {
			into = queued
		}
		into[from] = append(into[from], tx)
	}
	return executable, queued
}

// Stats implements api.Pool.
func (c *Chain) Stats() (executable, queued int) {
	all, behind := c.Content()
	for _, txs := range all {
		executable += len(txs)
	}
	for _, txs := range behind {
		queued += len(txs)
	}
	return executable, queued
}
