package export

import (
	"bytes"
	"context"
	"encoding/binary"
	"errors"
	"io"
	"testing"
	"time"

	"github.com/cockroachdb/pebble/v2/vfs"
	"github.com/parquet-go/parquet-go"
	"go.uber.org/goleak"

	"dyno/services/ledger/store"
	"dyno/services/ledger/trust"
	"dyno/services/ledger/xrpl"
	"dyno/services/ledger/xrpl/xrpltest"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func filled(t *testing.T, ledgers []*xrpl.Ledger) *store.Store {
	t.Helper()
	s, err := store.Open("data", store.Options{FS: vfs.NewMem()})
	if err == nil {
		err = s.Append(ledgers, store.Progress{From: 1, To: 2})
	}
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { s.Close() })
	return s
}

func verified(t *testing.T, text []byte, level trust.Level) trust.Report {
	t.Helper()
	report, err := trust.VerifyFile(t.Context(), bytes.NewReader(text), trust.Options{Level: level})
	if err != nil {
		t.Fatal(err)
	}
	return report
}

// ledgersync verify proves the exported ledgers, links included.
func TestNDJSON(t *testing.T) {
	s := filled(t, xrpltest.Chain(1, 5, 20, 3))
	var out bytes.Buffer
	n := 0
	if err := NDJSON(t.Context(), &out, s, s.Stored().Indexes(), func() { n++ }); err != nil {
		t.Fatal(err)
	}
	if r := verified(t, out.Bytes(), trust.L2); len(r.Failed) > 0 || r.Ledgers != 20 || r.Links != 19 || r.Transactions != 60 || n != 20 {
		t.Fatalf("%+v, %d reported", r, n)
	}
}

func TestRealLedgersAreVerified(t *testing.T) {
	var ledgers []*xrpl.Ledger
	for _, l := range xrpltest.Ledgers(t) {
		ledgers = append(ledgers, &l)
	}
	s := filled(t, ledgers)
	var out bytes.Buffer
	if err := NDJSON(t.Context(), &out, s, s.Stored().Indexes(), func() {}); err != nil {
		t.Fatal(err)
	}
	if r := verified(t, out.Bytes(), trust.L4); len(r.Failed) > 0 || r.Ledgers != len(ledgers) || r.Signatures == 0 {
		t.Fatalf("%+v", r)
	}
}

func read(t *testing.T, text []byte) []Row {
	t.Helper()
	rows, err := parquet.Read[Row](bytes.NewReader(text), int64(len(text)))
	if err != nil {
		t.Fatal(err)
	}
	return rows
}

func TestParquet(t *testing.T) {
	chain := xrpltest.Chain(1, 5, 30, 3)
	chain[2].Transactions[1].Blob = nil // unreadable
	from := map[uint32]*xrpl.Ledger{}
	for _, l := range chain {
		from[l.Index] = l
	}
	var out bytes.Buffer
	indexes := func(yield func(uint32) bool) {
		for _, l := range chain {
			if !yield(l.Index) {
				return
			}
		}
	}
	if err := Parquet(t.Context(), &out, ledgers(from), indexes, func() {}); err != nil {
		t.Fatal(err)
	}
	rows := read(t, out.Bytes())
	if len(rows) != 90 {
		t.Fatalf("%d rows", len(rows))
	}
	for i, r := range rows {
		l := chain[i/3]
		tx := l.Transactions[i%3]
		h, _ := xrpl.ParseHeader(l.Header)
		at := time.Date(2000, 1, 1, 0, 0, 0, 0, time.UTC).Add(time.Duration(h.Close) * time.Second)
		if r.LedgerIndex != l.Index || r.Position != uint32(i%3) || !bytes.Equal(r.Blob, tx.Blob) || !bytes.Equal(r.Meta, tx.Meta) ||
			r.Hash != xrpl.TransactionID(tx.Blob).String() || !r.CloseTime.Equal(at) {
			t.Fatalf("row %d is %+v", i, r)
		}
		if tx.Blob == nil {
			if r.Account != "" || r.Type != "" {
				t.Fatalf("row %d is %+v", i, r)
			}
		} else if r.Type != "Payment" || !isAccount(r.Account) {
			t.Fatalf("row %d is a %s of %s", i, r.Type, r.Account)
		}
	}
}

func isAccount(address string) bool {
	for i := range 200 {
		if address == xrpl.AccountID(xrpltest.Account(i)).String() {
			return true
		}
	}
	return false
}

type ledgers map[uint32]*xrpl.Ledger

func (s ledgers) Ledger(index uint32, into *xrpl.Ledger) error {
	l, ok := s[index]
	if !ok {
		return store.ErrMissing
	}
	*into = *l
	return nil
}

// A type that this program does not know is its number.
func TestSenderOfUnknownType(t *testing.T) {
	for number, want := range map[uint16]string{0: "Payment", 100: "EnableAmendment", 65535: "65535"} {
		if _, got := sender(binary.BigEndian.AppendUint16([]byte{0x12}, number)); got != want {
			t.Errorf("%d is %s, want %s", number, got, want)
		}
	}
}

func TestFormatsEnd(t *testing.T) {
	broken := errors.New("broken")
	for name, write := range Formats {
		s := filled(t, xrpltest.Chain(1, 5, 20, 3))
		ctx, cancel := context.WithCancel(t.Context())
		cancel()
		if err := write(ctx, io.Discard, s, s.Stored().Indexes(), func() {}); !errors.Is(err, context.Canceled) {
			t.Errorf("%s: %v", name, err)
		}
		one := func(yield func(uint32) bool) { yield(99) }
		if err := write(t.Context(), io.Discard, s, one, func() {}); !errors.Is(err, store.ErrMissing) {
			t.Errorf("%s: %v", name, err)
		}
		if err := write(t.Context(), failing{broken}, s, s.Stored().Indexes(), func() {}); !errors.Is(err, broken) {
			t.Errorf("%s: %v", name, err)
		}
	}
}

type failing struct{ err error }

func (f failing) Write([]byte) (int, error) { return 0, f.err }
