package orders

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"testing"
	"testing/synctest"
	"time"

	"dyno/services/orders/order"
)

// fake is a database that answers with err.
type fake struct {
	err   error
	calls int
}

func (f *fake) Order(_ context.Context, uid int64) (order.Order, error) {
	f.calls++
	return order.Order{UID: uid, Account: "A1", Version: 1}, f.err
}

func (f *fake) OrderAtLeast(ctx context.Context, uid, _ int64) (order.Order, error) {
	return f.Order(ctx, uid)
}

func (f *fake) Orders(context.Context, order.Filter) (order.Page, error) {
	f.calls++
	return order.Page{}, f.err
}

func (f *fake) Submit(context.Context, string, *order.Submission) (order.Receipt, error) {
	f.calls++
	return order.Receipt{}, f.err
}

var away = fmt.Errorf("%w: connection refused", order.ErrUnavailable)

func TestBreaker(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx, f := context.Background(), &fake{err: away}
		b := newBreaker(f, slog.New(slog.DiscardHandler))
		for i := range breakerFailures {
			if _, err := b.Order(ctx, 1); !errors.Is(err, order.ErrUnavailable) {
				t.Fatalf("failure %d: %v", i+1, err)
			}
		}
		for _, call := range []func() error{
			func() error { _, err := b.Order(ctx, 1); return err },
			func() error { _, err := b.OrderAtLeast(ctx, 1, 1); return err },
			func() error { _, err := b.Orders(ctx, order.Filter{}); return err },
			func() error { _, err := b.Submit(ctx, "A1", nil); return err },
		} {
			if err := call(); !errors.Is(err, errOpen) || f.calls != breakerFailures {
				t.Errorf("%v after %d calls; the breaker is not open", err, f.calls)
			}
		}
		time.Sleep(breakerPause + time.Millisecond)
		if _, err := b.Order(ctx, 1); !errors.Is(err, order.ErrUnavailable) || f.calls != breakerFailures+1 {
			t.Errorf("%v: nobody tried after the pause", err)
		}
		if _, err := b.Order(ctx, 1); !errors.Is(err, errOpen) {
			t.Errorf("%v: one failure more leaves it open", err)
		}
		time.Sleep(breakerPause + time.Millisecond)
		f.err = nil
		for range 3 {
			if o, err := b.Order(ctx, 7); err != nil || o.UID != 7 {
				t.Errorf("%+v %v: the database is back", o, err)
			}
		}
		if b.uneasy.Load() {
			t.Error("it still asks the breaker although all is well")
		}
	})
}

// What the database says of a request does not open the breaker, and a success between failures keeps it closed.
func TestBreakerStaysClosed(t *testing.T) {
	ctx, f := context.Background(), &fake{}
	b := newBreaker(f, slog.New(slog.DiscardHandler))
	for range 5 * breakerFailures {
		for _, f.err = range []error{away, order.ErrNotFound, order.ErrConflict, context.Canceled, nil} {
			if _, err := b.Order(ctx, 1); !errors.Is(err, f.err) {
				t.Fatalf("%v, want %v", err, f.err)
			}
		}
	}
}
