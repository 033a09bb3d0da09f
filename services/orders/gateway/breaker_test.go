package gateway

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

var errAway = fmt.Errorf("%w: connection refused", order.ErrUnavailable)

func TestBreaker(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx, f := context.Background(), &fake{err: errAway}
		b := newBreaker(f, 1, slog.New(slog.DiscardHandler))
		for name, call := range map[string]func() error{
			"reads":   func() error { _, err := b.Order(ctx, 1); return err },
			"replica": func() error { _, err := b.OrderAtLeast(ctx, 1, 1); return err },
			"lists":   func() error { _, err := b.Orders(ctx, order.Filter{Account: "A1"}); return err },
			"writes":  func() error { _, err := b.Submit(ctx, "A1", nil); return err },
		} {
			f.err, f.calls = errAway, 0
			for i := range breakerFailures {
				if err := call(); !errors.Is(err, order.ErrUnavailable) {
					t.Fatalf("%s, failure %d: %v", name, i+1, err)
				}
			}
			if err := call(); !errors.Is(err, errOpen) || f.calls != breakerFailures {
				t.Errorf("%s: %v after %d calls; the breaker is not open", name, err, f.calls)
			}
			time.Sleep(breakerPause + time.Millisecond)
			if err := call(); !errors.Is(err, order.ErrUnavailable) || f.calls != breakerFailures+1 {
				t.Errorf("%s: %v: no request tried after the pause", name, err)
			}
			if err := call(); !errors.Is(err, errOpen) {
				t.Errorf("%s: %v: one failure more leaves it open", name, err)
			}
			time.Sleep(breakerPause + time.Millisecond)
			f.err = nil
			for range 3 {
				if err := call(); err != nil {
					t.Errorf("%s: %v: the database is back", name, err)
				}
			}
		}
	})
}

// What the database says of a request does not open the breaker, and a success between failures
// keeps it closed.
func TestBreakerStaysClosed(t *testing.T) {
	ctx, f := context.Background(), &fake{}
	b := newBreaker(f, 1, slog.New(slog.DiscardHandler))
	for range 5 * breakerFailures {
		for _, f.err = range []error{errAway, order.ErrNotFound, order.ErrConflict, context.Canceled, nil} {
			if _, err := b.Order(ctx, 1); !errors.Is(err, f.err) {
				t.Fatalf("%v, want %v", err, f.err)
			}
		}
	}
}

// A caller that goes away, or whose time is over before the database was asked, is not evidence: it
// neither opens the breaker nor keeps it closed.
func TestBreakerIgnores(t *testing.T) {
	ctx, f := context.Background(), &fake{}
	b := newBreaker(f, 1, slog.New(slog.DiscardHandler))
	for range 5 * breakerFailures {
		for _, f.err = range []error{context.Canceled, order.ErrBusy} {
			if _, err := b.Order(ctx, 1); !errors.Is(err, f.err) {
				t.Fatalf("%v, want %v", err, f.err)
			}
		}
	}
	for i := range breakerFailures {
		f.err = errAway
		b.Order(ctx, 1)
		if f.err = context.Canceled; i < breakerFailures-1 {
			b.Order(ctx, 1)
		}
	}
	if _, err := b.Order(ctx, 1); !errors.Is(err, errOpen) {
		t.Errorf("%v: callers that went away kept it closed", err)
	}
}

// What is away for one class of requests, or on one shard, is not away for the others.
func TestBreakersAreApart(t *testing.T) {
	ctx, f := context.Background(), &fake{err: errAway}
	b := newBreaker(f, 2, slog.New(slog.DiscardHandler))
	for range breakerFailures {
		b.Order(ctx, 1) // of the first shard
	}
	f.err = nil
	if _, err := b.Order(ctx, 1); !errors.Is(err, errOpen) || b.open(classRead) != 1 {
		t.Errorf("%v, %d open", err, b.open(classRead))
	}
	if _, err := b.Order(ctx, 2); err != nil {
		t.Errorf("the other shard: %v", err)
	}
	if _, err := b.Submit(ctx, "A1", nil); err != nil {
		t.Errorf("submits: %v", err)
	}
	if _, err := b.Orders(ctx, order.Filter{Account: "A1"}); err != nil {
		t.Errorf("lists: %v", err)
	}
}
