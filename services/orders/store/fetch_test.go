package store

import (
	"context"
	"errors"
	"io"
	"testing"

	"dyno/services/orders/batcher"
	"dyno/services/orders/order"

	"github.com/jackc/pgx/v5/pgconn"
)

// faulty answers fetches with the errors given, in turn, and then finds everything.
type faulty struct {
	driver
	errs    []error
	fetches int
}

func (f *faulty) Fetch(_ context.Context, uids []int64, answers []batcher.Answer[order.Order]) error {
	f.fetches++
	for i, uid := range uids {
		answers[i] = batcher.Answer[order.Order]{Value: order.Order{UID: uid}, Found: true}
	}
	if len(f.errs) == 0 {
		return nil
	}
	err := f.errs[0]
	f.errs = f.errs[1:]
	return err
}

// A batch is sent again as a whole, once, when its connection broke, and not key by key when the
// database is away.
func TestFetchAgain(t *testing.T) {
	away := &pgconn.PgError{Code: "53300"}
	odd := &pgconn.PgError{Code: "22003"}
	for name, c := range map[string]struct {
		errs        []error
		fetches     int
		failed      bool // for the batcher to try each alone
		unavailable bool
	}{
		"well":              {nil, 1, false, false},
		"broken":            {[]error{io.ErrUnexpectedEOF}, 2, false, false},
		"broken, then away": {[]error{io.ErrUnexpectedEOF, away}, 2, false, true},
		"broken twice":      {[]error{io.ErrUnexpectedEOF, io.EOF}, 2, false, true},
		"away":              {[]error{away}, 1, false, true},
		"too late for all":  {[]error{context.DeadlineExceeded}, 1, false, true},
		"a key's":           {[]error{odd}, 1, true, false},
	} {
		f := &faulty{errs: c.errs}
		d := &backend{driver: f, where: "db.example:5432/orders"}
		answers := make([]batcher.Answer[order.Order], 3)
		err := d.fetch(t.Context(), []int64{1, 2, 3}, answers)
		if f.fetches != c.fetches || (err != nil) != c.failed {
			t.Errorf("%s: %d fetches, %v", name, f.fetches, err)
		}
		if c.failed {
			continue
		}
		for i, a := range answers {
			if errors.Is(a.Err, order.ErrUnavailable) != c.unavailable || a.Found == c.unavailable || !c.unavailable && a.Value.UID != int64(i)+1 {
				t.Errorf("%s: %+v", name, a)
			}
		}
	}
}
