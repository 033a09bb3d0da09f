package testchain

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"time"

	"dyno/services/chain/console"
)

// do makes a call that changes the chain, and shows and answers what it did when that is in the
// journal. A call that fails changes nothing.
func (c *Chain) do(ctx context.Context, method string, params json.RawMessage) (any, error) {
	a := newAsking(ctx)
	if err := c.warm(a, method, params); err != nil {
		return nil, err
	}
	result, lines, err := c.perform(a, method, params)
	c.Print(lines)
	return result, err
}

// perform is do, but for what contracts print meanwhile, which it returns.
func (c *Chain) perform(a *asking, method string, params json.RawMessage) (any, []console.Line, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	ended := false
	defer func() {
		if !ended { // a panic: what was changed is not known
			c.fail(fmt.Errorf("the call %s of the test chain panicked; start again", method))
		}
	}()
	c.now, c.asking = time.Now(), a
	c.version++
	undo := c.savepoint()
	result, err := calls[method](c, params)
	if err != nil {
		undo()
	} else if err = c.note(call{method, params, c.now.UnixNano()}); err == nil {
		c.work++
		if err = c.log.Sync(); err != nil {
			c.fail(err)
			err = errors.New("the node cannot write to its disk")
		}
	}
	c.collect()
	ended = true
	lines := c.lines.Take()
	if err != nil {
		return nil, lines, err
	}
	return result, lines, nil
}

// Print writes what contracts print to the log, unless a client has turned that off.
func (c *Chain) Print(lines []console.Line) {
	if c.o.Log == nil || c.silent.Load() {
		return
	}
	for _, l := range lines {
		c.o.Log.Info("console.log", "of", l.Of, "text", l.Text)
	}
}

// savepoint returns what takes a call back that has failed. Such a call only adds blocks.
func (c *Chain) savepoint() (undo func()) {
	blocks, root, set, next, shown := len(c.blocks), c.root, c.settings, c.forNext, c.shown
	last, pool, accepted := c.blocks[blocks-1].root, slices.Clone(c.pool), len(c.accepted)
	return func() {
		c.gone += len(c.blocks) - blocks
		c.truncate(blocks)
		c.blocks[blocks-1].root = last
		c.root, c.settings, c.forNext, c.pool, c.accepted, c.shown = root, set, next, pool, c.accepted[:accepted], shown
	}
}
