package blockchain

import (
	"errors"
	"math/big"

	"github.com/ethereum/go-ethereum/core/state"
	"github.com/ethereum/go-ethereum/core/types"

	"dyno/services/chain/execution"
)

// Draft is the block after the head, while it is made. One goroutine at a time uses it.
type Draft struct {
	*execution.Builder

	db       *state.StateDB
	below    *ancestors
	block    *types.Block
	receipts types.Receipts
}

// Begin begins the block after the head, with a time in seconds since 1970. The draft is abandoned,
// or finished. The goroutine that appends may put it, before it puts another one or calls Append.
func (c *Chain) Begin(time uint64) (*Draft, error) { return c.begin(time, c.states.Next) }

// Look begins the block after the head as Begin does, to look ahead: it is never put.
func (c *Chain) Look(time uint64) (*Draft, error) { return c.begin(time, c.states.At) }

func (c *Chain) begin(time uint64, open func(*types.Header) (*state.StateDB, error)) (*Draft, error) {
	head := c.Head()
	db, err := open(head)
	if err != nil {
		return nil, err
	}
	below := &ancestors{blocks: c.Blocks}
	b, err := c.executor.Build(head, time, db, below)
	if err != nil {
		return nil, err
	}
	return &Draft{Builder: b, db: db, below: below}, nil
}

// Finish makes the block of the transactions that were added. It is in no chain yet.
func (d *Draft) Finish() (err error) {
	d.block, d.receipts, err = d.Builder.Finish()
	return errors.Join(d.below.err, err)
}

// Block is the finished block.
func (d *Draft) Block() *types.Block { return d.block }

// Put stores a finished draft as the new head. After an error the chain is as it was, or can no
// longer be appended to.
func (c *Chain) Put(d *Draft) error {
	header := d.block.Header()
	replaced := c.replaced()
	if err := c.states.Commit(d.db, header, c.executor.Rules(header), replaced); err != nil {
		return err
	}
	if err := c.Blocks.Append(d.block, d.receipts, replaced); err != nil {
		return err
	}
	c.head.Store(header)
	return nil
}

// NextBaseFee is the base fee of the block after a header; nil before London.
func (c *Chain) NextBaseFee(header *types.Header) *big.Int { return c.executor.NextBaseFee(header) }
