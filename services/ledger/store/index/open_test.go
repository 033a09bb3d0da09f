package index

import (
	"errors"
	"strings"
	"testing"

	"github.com/cockroachdb/pebble/v2/vfs"
	"go.uber.org/goleak"

	"dyno/services/ledger/xrpl/history"
)

func opened(t *testing.T) *DB {
	t.Helper()
	d, err := Open("data/index", Options{FS: vfs.NewMem()})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { d.Close() })
	return d
}

// An index whose write ended with pebble's locks held is closed for its readers, too.
func TestStuckIndexIsClosed(t *testing.T) {
	d := opened(t)
	t.Cleanup(func() { d.db.Close() }) // the test holds no lock of pebble's
	if err := d.Guard(func() error { panic("with locks held") }); !errors.Is(err, ErrFailed) {
		t.Fatal(err)
	}
	if _, err := d.Get(MetaKey("format")); !errors.Is(err, ErrMissing) {
		t.Errorf("before Close: %v", err)
	}
	if err := d.Close(); err != nil {
		t.Fatal(err)
	}
	if _, err := d.Get(MetaKey("format")); !errors.Is(err, ErrClosed) {
		t.Errorf("after Close: %v", err)
	}
	if _, err := d.Empty(); !errors.Is(err, ErrClosed) {
		t.Errorf("after Close: %v", err)
	}
}

// A damaged mark is reported, and hides none of the others from a repair.
func TestMarksBesideADamagedOne(t *testing.T) {
	d := opened(t)
	b := d.Batch(0)
	if err := errors.Join(SetMark(b, 7, "seven"), b.Set([]byte{marks, 0, 0, 0, 7, 1}, nil, nil), SetMark(b, 9, "nine"), d.Apply(b)); err != nil {
		t.Fatal(err)
	}
	var found []string
	err := d.EachMark(history.Range{From: 1, To: 100}, func(_ uint32, reason string) { found = append(found, reason) })
	if got := strings.Join(found, " "); got != "seven nine" || err == nil || !strings.Contains(err.Error(), "damaged") {
		t.Errorf("%q, %v", got, err)
	}
}

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }
