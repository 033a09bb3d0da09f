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
)

// defaultCheckpoint is a second of calls that are made again at a start.
const defaultCheckpoint = 2_000

// checkpointed is the record at the end of a checkpoint, after its parts.
const checkpointed = "checkpoint"

// kept is what the last record of a checkpoint has: the chain, beside its parts.
type kept struct {
	From     uint64          `json:"from"` // the record with which the checkpoint begins
	Genesis  json.RawMessage `json:"genesis"`
	Root     common.Hash     `json:"root"`
	Taken    uint64          `json:"taken"`
	Settings keptSettings    `json:"settings"`
	Next     keptNext        `json:"next"`
	Pool     []common.Hash   `json:"pool"`
	Fees     bool            `json:"fees,omitempty"`
	Forks    uint64          `json:"forks,omitempty"`
	Fork     *forkPoint      `json:"fork,omitempty"` // without its block, which is the first
}

type keptSettings struct {
	Manual       bool             `json:"manual"`
	Interval     time.Duration    `json:"interval"` // nanoseconds
	Coinbase     common.Address   `json:"coinbase"`
	GasLimit     uint64           `json:"gasLimit"`
	Impersonated []common.Address `json:"impersonated"`
	Everybody    bool             `json:"everybody"`
	Signatures   []keptSignature  `json:"signatures,omitempty"`
	Strict       bool             `json:"strict,omitempty"`
}

// keptSignature is a signature for which ecrecover answers an account.
type keptSignature struct {
	Signature hexutil.Bytes  `json:"signature"`
	Account   common.Address `json:"account"`
}

type keptNext struct {
	Offset  int64        `json:"offset"`
	Last    uint64       `json:"last"`
	Exact   *uint64      `json:"exact"`
	Step    uint64       `json:"step"`
	BaseFee *hexutil.Big `json:"baseFee"`
	Random  *common.Hash `json:"random"`
}

// keptSnapshot is a snapshot, a part of its own.
type keptSnapshot struct {
	ID     uint64        `json:"id"`
	Blocks int           `json:"blocks"`
	Root   common.Hash   `json:"root"`
	Next   keptNext      `json:"next"`
	Pool   []common.Hash `json:"pool"`
}

func (n forNext) kept() keptNext {
	return keptNext{n.clock.offset, n.clock.last, n.clock.exact, n.clock.step, (*hexutil.Big)(n.baseFee), n.random}
}

func (k keptNext) next() forNext {
	return forNext{clock{k.Offset, k.Last, k.Exact, k.Step}, k.BaseFee.ToInt(), k.Random}
}

// fail ends the chain after an error that only a new start can resolve.
func (c *Chain) fail(err error) {
	c.broken = true
	c.o.Fail(err)
}

func (c *Chain) note(r call) error {
	text, err := json.Marshal(r)
	if err == nil {
		err = c.log.AppendAsync([][]byte{text}, nil)
	}
	if err != nil {
		c.fail(err)
	}
	return err
}

// shorten begins the journal again with the chain as it is, where the next start would make many calls
// again.
func (c *Chain) shorten() {
	if c.broken || c.o.Still || c.work < c.o.Checkpoint {
		return
	}
	err := c.checkpoint()
	if err == nil {
		c.work = 0
	} else if c.o.Log != nil {
		c.o.Log.Warn("the journal of the test chain stays as long as it is, and a start makes its calls again", "calls and blocks", c.work, "reason", err)
	}
}

// checkpoint writes all of the chain to the journal, and removes the records before. A crash at any
// moment loses nothing: until the last record is durable the ones before are there. What does not fit
// into the journal is an error before anything is written.
func (c *Chain) checkpoint() error {
	_, begin := c.log.Bounds()
	records, err := c.encode(begin)
	if err != nil {
		return err
	}
	if err := c.log.Roll(); err != nil { // so that all records before can be removed
		return err
	}
	for batch := range batches(records) {
		if _, err := c.log.Append(batch, nil); err != nil {
			return err
		}
	}
	return c.log.Trim(begin)
}

// encode makes the records of a checkpoint that begins with a number.
func (c *Chain) encode(begin uint64) ([][]byte, error) {
	e := &encoder{states: c.states, seen: map[common.Hash]bool{}}
	for _, s := range c.blocks {
		if err := errors.Join(e.block(s), e.state(s.root)); err != nil {
			return nil, err
		}
	}
	for _, s := range c.snapshots {
		if err := errors.Join(e.state(s.root), e.snapshot(s)); err != nil {
			return nil, err
		}
	}
	pool, err := e.pool(c.pool)
	if err := errors.Join(err, e.state(c.root)); err != nil {
		return nil, err
	}
	k := kept{Fees: c.fees, Forks: c.forks, From: begin, Genesis: c.genesis.JSON(), Root: c.root, Taken: c.taken, Next: c.forNext.kept(), Pool: pool}
	k.Settings = keptSettings{Manual: c.manual, Interval: c.interval, Coinbase: c.coinbase, GasLimit: c.gasLimit, Everybody: c.everybody, Strict: c.strict}
	k.Settings.Impersonated = slices.SortedFunc(maps.Keys(c.impersonated), common.Address.Cmp)
	for signature, account := range c.signatures {
		k.Settings.Signatures = append(k.Settings.Signatures, keptSignature{signature[:], account})
	}
	slices.SortFunc(k.Settings.Signatures, func(a, b keptSignature) int { return bytes.Compare(a.Signature, b.Signature) })
	if c.origin != nil {
		if k.Fork, err = e.origin(c.origin); err != nil {
			return nil, err
		}
	}
	text, err := json.Marshal(&k)
	if err == nil {
		last := call{Method: checkpointed, Params: text}
		if !c.shown.IsZero() {
			last.Time = c.shown.UnixNano()
		}
		text, err = json.Marshal(last)
	}
	if err == nil {
		err = e.record(text)
	}
	return e.records, err
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
	pool, err := p.pool(k.Pool)
	if err != nil {
		return err
	}
	for _, s := range p.snapshots {
		if s.blocks < 1 || s.blocks > len(p.blocks) {
			return fmt.Errorf("snapshot %d has %d blocks of %d", s.id, s.blocks, len(p.blocks))
		}
	}
	if err := c.restoreOrigin(k, p); err != nil {
		return err
	}
	c.states, c.blocks = p.states, nil
	c.byHash, c.index = map[common.Hash]uint64{}, map[common.Hash]place{}
	for i, s := range p.blocks {
		number := uint64(i)
		if c.origin != nil {
			number += c.origin.number
		}
		if s.block.NumberU64() != number {
			return fmt.Errorf("block %d is at the place of %d", s.block.NumberU64(), number)
		}
		c.root = s.root
		c.append(s.block, s.receipts)
	}
	c.root, c.taken, c.forNext, c.pool, c.snapshots, c.work = k.Root, k.Taken, k.Next.next(), pool, p.snapshots, 0
	set := k.Settings
	c.settings = settings{set.Manual, set.Interval, set.Coinbase, set.GasLimit, map[common.Address]bool{}, set.Everybody, nil, set.Strict}
	for _, of := range set.Impersonated {
		c.impersonated[of] = true
	}
	for _, s := range set.Signatures {
		if err := c.know(s.Signature, s.Account); err != nil {
			return err
		}
	}
	return nil
}

// restoreOrigin makes the chain a fork, if that of a checkpoint is one.
func (c *Chain) restoreOrigin(k *kept, p *parts) error {
	c.endFork()
	c.forks = max(c.forks, k.Forks)
	if k.Fork == nil {
		return nil
	}
	o, err := c.newOrigin(k.Fork, p.blocks[0].block, p.states)
	for i := 0; i < len(p.reads) && err == nil; i++ {
		err = o.learn(p.reads[i], false)
	}
	c.origin = o
	return err
}

// wrong says which record an error is about.
func wrong(number uint64, err error) error {
	if err != nil {
		err = fmt.Errorf("record %d of the journal: %w", number, err)
	}
	return err
}
