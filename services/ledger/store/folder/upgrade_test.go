package folder

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"go.uber.org/goleak"

	"dyno/parts/xrpl/trust"
	"dyno/services/ledger/store"
	"dyno/services/ledger/store/check"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

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
		report, err := check.Store(t.Context(), s, trust.L4, nil)
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
	if !strings.Contains(err.Error(), "from format 1 to 2") || !strings.Contains(err.Error(), "sync into a new folder") {
		t.Error(err)
	}
	if after, err := os.ReadFile(logs[0]); err != nil || string(after) != string(b) {
		t.Errorf("it was changed: %v", err)
	}
}
