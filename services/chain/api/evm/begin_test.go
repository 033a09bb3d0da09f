package evm

import (
	"testing"
	"testing/synctest"
	"time"

	"dyno/services/chain/jsonrpc"
	"dyno/services/chain/limiter"
)

// A call waits for a core for as long as executions may have theirs, which is longer where they ask another node.
func TestBeginWaits(t *testing.T) {
	for _, patience := range []time.Duration{0, 30 * time.Second} {
		synctest.Test(t, func(t *testing.T) {
			o := Options{Timeout: 5 * time.Second, Patience: patience}
			m := &methods{o: o, cores: o.cores()}
			for range m.cores.Limit() {
				_, done, err := m.begin(t.Context())
				if err != nil {
					t.Fatal(err)
				}
				defer done()
			}
			begun := time.Now()
			if _, _, err := m.begin(t.Context()); jsonrpc.AsError(err).Code != jsonrpc.LimitExceeded || time.Since(begun) != o.Timeout+patience {
				t.Errorf("refused after %v: %v", time.Since(begun), err)
			}
		})
	}
}

// A call that finds no free core in its time is refused, and one that is done makes room.
func TestBegin(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m := &methods{o: Options{Timeout: time.Second}, cores: limiter.New(limiter.Options{Limit: 1, MaxWaiting: 1, MaxWait: time.Second})}
		ctx, done, err := m.begin(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		if _, _, err := m.begin(t.Context()); jsonrpc.AsError(err).Code != jsonrpc.LimitExceeded {
			t.Errorf("no core is free: %v", err)
		}
		if <-ctx.Done(); m.aborted(ctx).Error() != "execution aborted (timeout = 1s)" {
			t.Error(m.aborted(ctx))
		}
		done()
		m.o.Patience = time.Minute
		if ctx, done, err = m.begin(t.Context()); err != nil {
			t.Fatal(err)
		}
		resume := limiter.Pause(ctx)
		if time.Sleep(50 * time.Second); ctx.Err() != nil {
			t.Error(m.aborted(ctx))
		}
		resume()
		if <-ctx.Done(); m.aborted(ctx).Error() != "execution aborted (timeout = 1s)" {
			t.Error(m.aborted(ctx))
		}
		done()
		if _, done, err = m.begin(t.Context()); err != nil {
			t.Fatal(err)
		}
		done()
	})
}
