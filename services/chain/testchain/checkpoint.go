package testchain

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"time"

	"github.com/ethereum/go-ethereum/common"
	"github.com/ethereum/go-ethereum/common/hexutil"
	"github.com/ethereum/go-ethereum/core/types"

	"dyno/services/chain/execution"
)

// defaultCheckpoint is a second of calls that are made again at a start. A chain with more blocks has
// its next checkpoint after as many as it has, so that each block is written a bounded number of times.
const defaultCheckpoint = 2_000

// checkpointed is the record at the end of a checkpoint, after its parts.
const checkpointed = "checkpoint"

// kept is what the last record of a checkpoint has: the chain, beside its blocks and states.
type kept struct {
	From      uint64          `json:"from"` // the record with which the checkpoint begins
	Genesis   json.RawMessage `json:"genesis"`
	Root      common.Hash     `json:"root"`
	Taken     uint64          `json:"taken"`
	Settings  keptSettings    `json:"settings"`
	Next      keptNext        `json:"next"`
	Pool      []hexutil.Bytes `json:"pool"`
	Snapshots []keptSnapshot  `json:"snapshots"`
}

type keptSettings struct {
	Manual       bool             `json:"manual"`
	Interval     time.Duration    `json:"interval"` // nanoseconds
	Coinbase     common.Address   `json:"coinbase"`
	GasLimit     uint64           `json:"gasLimit"`
	Impersonated []common.Address `json:"impersonated"`
	Everybody    bool             `json:"everybody"`
}

type keptNext struct {
	Offset  int64        `json:"offset"`
	Last    uint64       `json:"last"`
	Exact   *uint64      `json:"exact"`
	Step    uint64       `json:"step"`
	BaseFee *hexutil.Big `json:"baseFee"`
	Random  *common.Hash `json:"random"`
}

type keptSnapshot struct {
	ID     uint64          `json:"id"`
	Blocks int             `json:"blocks"`
	Root   common.Hash     `json:"root"`
	Next   keptNext        `json:"next"`
	Pool   []hexutil.Bytes `json:"pool"`
}

func (n forNext) kept() keptNext {
	return keptNext{n.clock.offset, n.clock.last, n.clock.exact, n.clock.step, (*hexutil.Big)(n.baseFee), n.random}
}

func (k keptNext) next() forNext {
	return forNext{clock{k.Offset, k.Last, k.Exact, k.Step}, k.BaseFee.ToInt(), k.Random}
}

func encodePool(txs []*types.Transaction) (raws []hexutil.Bytes, err error) {
	for _, tx := range txs {
		raw, err := tx.MarshalBinary()
		if err != nil {
			return nil, err
		}
		raws = append(raws, raw)
	}
	return raws, nil
}

func decodePool(raws []hexutil.Bytes) (txs []*types.Transaction, err error) {
	for _, raw := range raws {
		tx, err := execution.DecodeTransaction(raw)
		if err != nil {
			return nil, err
		}
		txs = append(txs, tx)
	}
	return txs, nil
}

// shorten begins the journal again with the chain as it is. If that fails, the journal is as good as
// before, and the next attempt is after as many calls.
func (c *Chain) shorten() {
	c.work = 0
	if err := c.checkpoint(); err != nil && c.o.Log != nil {
		c.o.Log.Warn("the journal of the test chain stays as long as it is", "reason", err)
	}
}

// checkpoint writes all of the chain to the journal, and removes the records before. A crash at any
// moment loses nothing: until the last record is durable the ones before are there.
func (c *Chain) checkpoint() error {
	if err := c.log.Roll(); err != nil { // so that all records before can be removed
		return err
	}
	_, begin := c.log.Bounds()
	k, err := c.keep()
	if err != nil {
		return err
	}
	k.From = begin
	states := newStates()
	w := &writer{log: c.log, from: c.states, to: states, seen: map[common.Hash]bool{}}
	for _, s := range c.blocks {
		if err := errors.Join(w.block(s), w.state(s.root)); err != nil {
			return err
		}
	}
	for _, s := range c.snapshots {
		if err := w.state(s.root); err != nil {
			return err
		}
	}
	if err := errors.Join(w.state(c.root), w.flush()); err != nil {
		return err
	}
	text, err := json.Marshal(k)
	if err == nil {
		text, err = json.Marshal(call{Method: checkpointed, Params: text})
	}
	if err == nil {
		_, err = c.log.Append([][]byte{text}, nil)
	}
	if err != nil {
		return err
	}
	c.states = states // without what no block and no snapshot has
	return c.log.Trim(begin)
}

func (c *Chain) keep() (*kept, error) {
	k := &kept{Genesis: c.genesis.JSON(), Root: c.root, Taken: c.taken, Next: c.forNext.kept()}
	k.Settings = keptSettings{Manual: c.manual, Interval: c.interval, Coinbase: c.coinbase, GasLimit: c.gasLimit, Everybody: c.everybody}
	k.Settings.Impersonated = slices.SortedFunc(maps.Keys(c.impersonated), common.Address.Cmp)
	var err error
	if k.Pool, err = encodePool(c.pool); err != nil {
		return nil, err
	}
	for _, s := range c.snapshots {
		pool, err := encodePool(s.pool)
		if err != nil {
			return nil, err
		}
		k.Snapshots = append(k.Snapshots, keptSnapshot{s.id, s.blocks, s.root, s.forNext.kept(), pool})
	}
	return k, nil
}

// endOf is how the last record of a checkpoint begins, as json.Marshal writes it.
var endOf = []byte(`{"m":"` + checkpointed + `",`)

// lastCheckpoint finds the last checkpoint that is complete, and the record with which it begins; without
// one, the first record.
func (c *Chain) lastCheckpoint(ctx context.Context) (from uint64, last *kept, err error) {
	from, _ = c.log.Bounds()
	err = c.log.Scan(from, func(number uint64, text []byte) error {
		if !bytes.HasPrefix(text, endOf) {
			return ctx.Err()
		}
		var r call
		last = new(kept)
		if err := json.Unmarshal(text, &r); err != nil {
			return wrong(number, err)
		}
		return wrong(number, json.Unmarshal(r.Params, last))
	})
	if last != nil {
		from = last.From
	}
	return from, last, err
}

// restore makes the chain that of a checkpoint.
func (c *Chain) restore(k *kept, p *parts) error {
	if p == nil || len(p.blocks) == 0 {
		return errors.New("a checkpoint ends that has no beginning")
	}
	pool, err := decodePool(k.Pool)
	if err != nil {
		return err
	}
	var snapshots []*snapshot
	for _, s := range k.Snapshots {
		waiting, err := decodePool(s.Pool)
		if err != nil {
			return err
		}
		if s.Blocks < 1 || s.Blocks > len(p.blocks) {
			return fmt.Errorf("snapshot %d has %d blocks of %d", s.ID, s.Blocks, len(p.blocks))
		}
		snapshots = append(snapshots, &snapshot{s.ID, s.Blocks, s.Root, s.Next.next(), waiting})
	}
	c.states, c.blocks = p.states, nil
	c.byHash, c.index = map[common.Hash]uint64{}, map[common.Hash]place{}
	for i, s := range p.blocks {
		if s.block.NumberU64() != uint64(i) {
			return fmt.Errorf("block %d is at the place of %d", s.block.NumberU64(), i)
		}
		c.root = s.root
		c.append(s.block, s.receipts)
	}
	c.root, c.taken, c.forNext, c.pool, c.snapshots, c.work = k.Root, k.Taken, k.Next.next(), pool, snapshots, 0
	set := k.Settings
	c.settings = settings{set.Manual, set.Interval, set.Coinbase, set.GasLimit, map[common.Address]bool{}, set.Everybody}
	for _, of := range set.Impersonated {
		c.impersonated[of] = true
	}
	return nil
}

// wrong says which record an error is about.
func wrong(number uint64, err error) error {
	if err != nil {
		err = fmt.Errorf("record %d of the journal: %w", number, err)
	}
	return err
}
