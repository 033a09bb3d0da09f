package testchain

import (
	"context"
	"fmt"
	"sync/atomic"
	"time"

	"dyno/services/chain/limiter"
)

// Bounds of the time for which another node is asked. Others wait meanwhile for a call that changes the chain
// and asks for what it did not read before it took the lock.
const (
	patience = 10 * time.Second // for an answer
	Patience = 30 * time.Second // for all answers that a call needs
)

// asking bounds what a call of a client asks of another node: by its context, and in time. It may be used
// from any goroutine.
type asking struct {
	ctx  context.Context
	left atomic.Int64 // nanoseconds
}

func newAsking(ctx context.Context) *asking {
	a := &asking{ctx: ctx}
	a.again()
	return a
}

// again gives the next call all of the time.
func (a *asking) again() { a.left.Store(int64(Patience)) }

// begin returns the context of a question, during which the time of an execution pauses. The caller calls the function when it is answered.
func (a *asking) begin() (context.Context, func(), error) {
	left := time.Duration(a.left.Load())
	if left <= 0 {
		return nil, nil, fmt.Errorf("the node that is forked took more than %v to answer what this call needs: try again, since what was read is kept", Patience)
	}
	begun := time.Now()
	ctx, cancel := context.WithTimeout(a.ctx, min(left, patience))
	resume := limiter.Pause(a.ctx)
	return ctx, func() {
		resume()
		cancel()
		a.left.Add(-int64(time.Since(begun)))
	}, nil
}
