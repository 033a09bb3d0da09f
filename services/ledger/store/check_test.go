package store

import (
	"bytes"
	"encoding/json"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/cockroachdb/pebble/v2"
	"github.com/cockroachdb/pebble/v2/vfs"

	"dyno/parts/xrpl"
	"dyno/services/ledger/store/storetest"
	"dyno/services/ledger/trust"
)

func filled(t *testing.T) (*Store, []*xrpl.Ledger) {
	t.Helper()
	s := mustOpen(t, vfs.NewMem(), Options{Accounts: "on"})
	chain := storetest.Chain(1, 101, 200, 3)
	if err := s.Append(append(chain[:50:50], chain[60:]...), Progress{From: 95, To: 300}); err != nil {
		t.Fatal(err)
	}
	return s, chain
}

func TestCheckClean(t *testing.T) {
	s, _ := filled(t)
	said := 0
	report, err := s.Check(t.Context(), trust.L2, func(done, total int) {
		if said++; total != 190 || done != said {
			t.Errorf("%d of %d after %d", done, total, said)
		}
	})
	if err != nil || !report.Clean() || report.Ledgers != 190 || report.Transactions != 570 || report.Links != 188 || said != 190 {
		t.Fatalf("%+v, %v", report, err)
	}
	if got := strings.Join(report.Gaps, " "); got != "95-100 151-160" {
		t.Fatalf("gaps are %s", got)
	}
}

func TestCheckWithoutAnything(t *testing.T) {
	s := mustOpen(t, vfs.NewMem(), Options{})
	report, err := s.Check(t.Context(), trust.L4, nil)
	if err != nil || !report.Clean() || report.Ledgers != 0 {
		t.Fatalf("%+v, %v", report, err)
	}
	text, err := json.Marshal(report)
	if want := `{"ledgers":0,"transactions":0,"signatures":0,"links":0,"gaps":[],"failed":[],"marked":[]}`; err != nil || string(text) != want {
		t.Fatalf("%s, want %s", text, want)
	}
}

// Every damage is found, with the ledger's index if it concerns one.
func TestCheckFindsDamage(t *testing.T) {
	ledger := func(index uint32, change func(l *xrpl.Ledger)) func(*testing.T, *Store) error {
		return func(t *testing.T, s *Store) error {
			var l xrpl.Ledger
			if err := s.Ledger(index, &l); err != nil {
				t.Fatal(err)
			}
			change(&l)
			ref, err := s.packs.Append(s.frameLedger(nil, "", l.Hash, &l, new(scratch)))
			b := s.db.NewBatch()
			return errors.Join(err, setEntry(b, entry{index, l.Hash, ref}, l.Header), b.Commit(pebble.NoSync))
		}
	}
	remove := func(key []byte) func(*testing.T, *Store) error {
		return func(_ *testing.T, s *Store) error { return s.db.Delete(key, pebble.NoSync) }
	}
	set := func(key, value []byte) func(*testing.T, *Store) error {
		return func(_ *testing.T, s *Store) error { return s.db.Set(key, value, pebble.NoSync) }
	}
	chain := storetest.Chain(1, 101, 200, 3)
	id := xrpl.TransactionID(chain[9].Transactions[1].Blob)
	for name, test := range map[string]struct {
		damage func(*testing.T, *Store) error
		index  uint32
		want   string
	}{
		"a flipped bit":      {ledger(110, func(l *xrpl.Ledger) { l.Transactions[1].Meta[50] ^= 4 }), 110, "wrong transaction tree"},
		"a transaction less": {ledger(110, func(l *xrpl.Ledger) { l.Transactions = l.Transactions[:2] }), 110, "wrong transaction tree"},
		"another header":     {ledger(110, func(l *xrpl.Ledger) { l.Header[40] ^= 1 }), 110, "wrong ledger hash"},
		"a re-linked ledger": {ledger(110, func(l *xrpl.Ledger) {
			h, _ := xrpl.ParseHeader(l.Header)
			h.Parent[0]++
			l.Header, l.Hash = h.Append(nil), h.Hash()
		}), 110, "its parent is"},
		"a ledger less":      {remove(ledgerKey(110)), 110, "not there"},
		"a ledger more":      {set(ledgerKey(155), nil), 0, "191 ledgers"},
		"half a ledger":      {set(ledgerKey(110), []byte{0, 1, 2}), 110, "damaged"},
		"no hash":            {remove(hashKey(chain[9].Hash)), 110, "by its hash"},
		"a hash more":        {set(hashKey(xrpl.Hash{1}), []byte{0, 0, 0, 110}), 0, "191 hashes"},
		"no transaction":     {remove(transactionKey(id)), 110, "by its id"},
		"a place elsewhere":  {set(transactionKey(id), appendPlace(nil, Place{111, 1})), 110, "by its id"},
		"a damaged place":    {set(transactionKey(id), []byte{1}), 110, "no place"},
		"a transaction more": {set(transactionKey(xrpl.Hash{1}), appendPlace(nil, Place{111, 1})), 0, "571 transactions"},
		"an account more":    {set(accountKey(xrpl.AccountID{1}, 110), []byte{0}), 0, "by account"},
		"other places":       {set(accountKey(accountOf(t, chain[9]), 110), []byte{99}), 110, "by account"},
		"another's hash":     {set(hashKey(chain[9].Hash), []byte{0, 0, 0, 111}), 110, "one finds ledger 111"},
		"a damaged hash":     {set(hashKey(chain[9].Hash), []byte{1}), 110, "by its hash"},
	} {
		t.Run(name, func(t *testing.T) {
			s, _ := filled(t)
			if err := test.damage(t, s); err != nil {
				t.Fatal(err)
			}
			report, err := s.Check(t.Context(), trust.L2, nil)
			if err != nil || report.Clean() {
				t.Fatalf("%+v, %v", report, err)
			}
			for _, f := range report.Failed {
				if strings.Contains(f.Reason, "%!") || strings.Contains(f.Reason, "<nil>") {
					t.Errorf("%q is not for people", f.Reason)
				}
				if f.LedgerIndex == test.index && strings.Contains(f.Reason, test.want) {
					return
				}
			}
			t.Errorf("want %d: %s; got %+v", test.index, test.want, report.Failed)
		})
	}
}

func accountOf(t *testing.T, l *xrpl.Ledger) (account xrpl.AccountID) {
	t.Helper()
	if err := xrpl.Accounts(l.Transactions[0].Blob, l.Transactions[0].Meta, func(a xrpl.AccountID) { account = a }); err != nil {
		t.Fatal(err)
	}
	return account
}

// The ledgers are unsigned, so L4 reports each of them.
func TestCheckSignatures(t *testing.T) {
	s, _ := filled(t)
	report, err := s.Check(t.Context(), trust.L4, nil)
	if err != nil || len(report.Failed) != 190 || !strings.Contains(report.Failed[0].Reason, "signature") {
		t.Fatalf("%+v, %v", report.Failed[:min(1, len(report.Failed))], err)
	}
}

func TestEvidence(t *testing.T) {
	disk := vfs.NewMem()
	s := mustOpen(t, disk, Options{})
	chain := storetest.Chain(1, 5, 2, 2)
	at := time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)
	for i := range maxEvidence + 2 {
		if i == 2 { // a file with only outdated answers
			if err := s.Close(); err != nil {
				t.Fatal(err)
			}
			s = mustOpen(t, disk, Options{})
		}
		if err := s.Evidence(Evidence{Server: "http://a", Index: 5, Reason: "wrong", Time: at, Ledger: *chain[0]}); err != nil {
			t.Fatal(err)
		}
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	s = mustOpen(t, disk, Options{})
	wrong := s.Wrong()
	if len(wrong) != maxEvidence || wrong[0].Sequence != 3 || wrong[0].Server != "http://a" || !wrong[0].Time.Equal(at) || wrong[0].Index != 5 {
		t.Fatalf("%d are kept, the first is %+v", len(wrong), wrong[0])
	}
	answer, err := s.Answer(3)
	if err != nil || !bytes.Equal(answer, AppendAnswer(nil, chain[0])) {
		t.Fatalf("%.100s, %v", answer, err)
	}
	if _, err := s.Answer(2); !errors.Is(err, ErrMissing) {
		t.Fatalf("the oldest is there: %v", err)
	}
	if files := s.evidence.List(0); len(files) != 1 || files[0].Number != 2 {
		t.Fatalf("the files are %v", files)
	}
}

// Large answers remove the oldest, and one that is too large is cut.
func TestEvidenceIsBounded(t *testing.T) {
	s := mustOpen(t, vfs.NewMem(), Options{})
	if err := s.Evidence(Evidence{}); err != nil {
		t.Fatal(err)
	}
	s.evidence.items[0].Stored, s.evidence.bytes = maxEvidenceBytes-100, maxEvidenceBytes-100
	huge := xrpl.Ledger{Transactions: []xrpl.Transaction{{Blob: make([]byte, maxAnswer)}}}
	if err := s.Evidence(Evidence{Ledger: huge}); err != nil {
		t.Fatal(err)
	}
	if wrong := s.Wrong(); len(wrong) != 1 || wrong[0].Sequence != 2 || wrong[0].Kept != maxAnswer || wrong[0].Size <= 2*maxAnswer || s.evidence.bytes != wrong[0].Stored {
		t.Fatalf("%+v, %d bytes", wrong, s.evidence.bytes)
	}
}

// A transaction in several ledgers, as simulators repeat them, is found in one of them, and that is
// no failure.
func TestCheckOfRepeatedTransactions(t *testing.T) {
	s := mustOpen(t, vfs.NewMem(), Options{Accounts: "on"})
	chain := storetest.Chain(1, 100, 4, 3)
	parent := chain[0].Hash
	for _, l := range chain[1:] {
		l.Transactions = chain[0].Transactions
		h, err := xrpl.ParseHeader(l.Header)
		if err != nil {
			t.Fatal(err)
		}
		first, _ := xrpl.ParseHeader(chain[0].Header)
		h.Transactions, h.Parent = first.Transactions, parent
		l.Header, l.Hash = h.Append(nil), h.Hash()
		parent = l.Hash
	}
	mustAppend(t, s, chain...)
	report, err := s.Check(t.Context(), trust.L2, nil)
	if err != nil || !report.Clean() || report.Ledgers != 4 || report.Transactions != 12 || report.Links != 3 {
		t.Errorf("%+v, %v", report, err)
	}
}
