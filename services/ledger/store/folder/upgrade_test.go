package folder

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"dyno/services/ledger/store"
	"dyno/services/ledger/store/index"
	"dyno/services/ledger/trust"
	"dyno/services/ledger/xrpl"
	"dyno/services/ledger/xrpl/xrpltest"
)

// older unpacks a data folder of format 1: ten ledgers with an index by account, synced at L4, and
// a wrong answer.
func olderFolder(t *testing.T) string {
	t.Helper()
	dir := t.TempDir()
	if out, err := exec.Command("tar", "-xzf", filepath.Join("testdata", "format1.tar.gz"), "-C", dir).CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	return dir
}

func TestUpgrade(t *testing.T) {
	dir := olderFolder(t)
	for name, file := range map[string]string{store.PacksFolder: "000001-0000000000000001.pack", store.IndexFolder: "000001.sst"} { // interrupted upgrades
		if err := os.MkdirAll(filepath.Join(dir, name), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(dir, name, file), []byte("half"), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	for range 2 { // the second time it is upgraded already
		s, err := Open(dir, store.Options{})
		if err != nil {
			t.Fatal(err)
		}
		report, err := CheckStore(t.Context(), s, trust.L4, nil)
		if err != nil || !report.Clean() || report.Ledgers != 10 || report.Signatures != 40 || report.Synced != "L4" || len(report.Gaps) > 0 {
			t.Errorf("%+v, %v", report, err)
		}
		if p := s.Progress(); s.Stored().String() != "70001-70010" || p.From != 70001 || p.To != 70010 || len(p.Servers) != 2 || !s.HasAccounts() {
			t.Errorf("%v, %+v", s.Stored(), p)
		}
		wrong := s.Evidence().All()
		if len(wrong) != 1 || wrong[0].Index != 70005 || !strings.HasPrefix(wrong[0].Reason, "wrong transaction tree") {
			t.Fatalf("%+v", wrong)
		}
		if answer, err := s.Evidence().Answer(1); err != nil || len(answer) != wrong[0].Kept {
			t.Errorf("%.100s, %v", answer, err)
		}
		if err := s.Close(); err != nil {
			t.Fatal(err)
		}
	}
	if _, err := os.Stat(filepath.Join(dir, store.OldFolder)); !os.IsNotExist(err) {
		t.Errorf("the old store still exists: %v", err)
	}
}

// A folder of format 2 gets a new index by account, also after an interrupted upgrade.
func TestUpgradeOfAccounts(t *testing.T) {
	dir := t.TempDir()
	s, err := Open(dir, store.Options{Accounts: true})
	if err != nil {
		t.Fatal(err)
	}
	chain := xrpltest.Chain(1, 100, 10, 2)
	var account xrpl.AccountID
	if err := xrpl.Accounts(chain[0].Transactions[0].Meta, func(id xrpl.AccountID) { account = id }); err != nil {
		t.Fatal(err)
	}
	b := s.Index().Batch(0)
	err = errors.Join(s.Append(chain, store.Progress{From: 100, To: 109, Level: "L2"}), index.DeleteAccounts(b), s.Index().Apply(b), b.Close(), s.Close())
	if err == nil {
		err = os.WriteFile(filepath.Join(dir, "FORMAT"), []byte(`{"service":"ledgersync","format":2}`), 0o644)
	}
	if err != nil {
		t.Fatal(err)
	}
	if err := upgrade(dir, 2); err != nil { // and then it is killed
		t.Fatal(err)
	}
	for range 2 {
		if s, err = Open(dir, store.Options{}); err != nil {
			t.Fatal(err)
		}
		if _, _, err := s.AccountTransactions(account, 100, 100, nil, 10, true); s.Lacking() > 0 && !errors.Is(err, store.ErrLacking) {
			t.Errorf("the old index answers: %v", err)
		}
		if err := s.IndexAccounts(t.Context()); err != nil {
			t.Fatal(err)
		}
		places, _, err := s.AccountTransactions(account, 100, 100, nil, 10, true)
		report, e := CheckStore(t.Context(), s, trust.L1, nil)
		if err != nil || e != nil || len(places) == 0 || !report.Clean() {
			t.Errorf("%v, %v, %v, %+v", places, err, e, report)
		}
		if err := s.Close(); err != nil {
			t.Fatal(err)
		}
	}
	if text, err := os.ReadFile(filepath.Join(dir, "FORMAT")); err != nil || !strings.Contains(string(text), fmt.Sprintf(`"format":%d`, store.Format)) {
		t.Errorf("%s, %v", text, err)
	}
}

// An unreadable store is not changed.
func TestUpgradeOfDamagedStore(t *testing.T) {
	dir := olderFolder(t)
	logs, err := filepath.Glob(filepath.Join(dir, store.OldFolder, "*.log"))
	if err != nil || len(logs) != 1 {
		t.Fatal(logs, err)
	}
	b, err := os.ReadFile(logs[0])
	if err != nil {
		t.Fatal(err)
	}
	b[1000] ^= 1
	if err := os.WriteFile(logs[0], b, 0o644); err != nil {
		t.Fatal(err)
	}
	s, err := Open(dir, store.Options{})
	if err == nil {
		defer s.Close()
		t.Fatalf("opened: %v", s.Stored())
	}
	if !strings.Contains(err.Error(), "from format 1 to 3") || !strings.Contains(err.Error(), "sync into a new folder") {
		t.Error(err)
	}
	if after, err := os.ReadFile(logs[0]); err != nil || string(after) != string(b) {
		t.Errorf("it was changed: %v", err)
	}
}
