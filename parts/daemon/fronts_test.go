package daemon

import (
	"context"
	"testing"
	"testing/synctest"
	"time"
)

// stuckFront is a front whose Drain lasts as long as it may, and notes how long that was.
type stuckFront struct{ lasted time.Duration }

func (h *stuckFront) LameDuck() {}

func (h *stuckFront) Drain(ctx context.Context) error {
	began := time.Now()
	<-ctx.Done()
	h.lasted = time.Since(began)
	return nil
}

// A front that a client holds up takes no time from the next.
func TestFrontsDrainConcurrently(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithTimeout(t.Context(), 8*time.Second)
		defer cancel()
		first, second := &stuckFront{}, &stuckFront{}
		if err := (fronts{first, second}).Drain(ctx); err != nil {
			t.Error(err)
		}
		if first.lasted != 8*time.Second || second.lasted != 8*time.Second {
			t.Errorf("%v and %v of 8 s", first.lasted, second.lasted)
		}
	})
}
