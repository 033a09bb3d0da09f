package ledger

import (
	"encoding/json"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"dyno/services/ledger/ledgertest"
	"dyno/services/ledger/sim"
	"dyno/services/ledger/store"
	"dyno/services/ledger/store/folder"
	"dyno/services/ledger/trust"
)

// A flipped byte in a pack is found by check, removed by check --repair, and one ledger is fetched
// again.
func TestRepairAndSync(t *testing.T) {
	honest := serveChain(t, sim.Config{})
	r := ledgertest.NewRelay(t, honest.URL())
	dir := t.TempDir()
	run(t, 0, syncing(dir, first, last, r.URL, "--anchor", truth(t, honest, last).Hash.String())...)
	packs, err := filepath.Glob(filepath.Join(dir, "packs", "*.pack"))
	if err != nil || len(packs) != 1 {
		t.Fatal(packs, err)
	}
	b, err := os.ReadFile(packs[0])
	if err != nil {
		t.Fatal(err)
	}
	at := strings.Index(string(b), string(truth(t, honest, first+7).Transactions[1].Blob))
	b[at+3] ^= 1
	if err := os.WriteFile(packs[0], b, 0o644); err != nil {
		t.Fatal(err)
	}
	report, err := folder.Check(t.Context(), dir, folder.CheckOptions{})
	if err != nil || len(report.Failed) == 0 || report.Failed[0].LedgerIndex != first+7 || !strings.Contains(report.Err().Error(), "check --repair") {
		t.Errorf("%+v, %v, %v", report, report.Err(), err)
	}
	report, err = folder.Check(t.Context(), dir, folder.CheckOptions{Repair: true})
	if err != nil || report.Err() != nil || !slices.Equal(report.Gaps, []string{index(first + 7)}) || report.Ledgers != ledgers-1 || report.Repaired == nil || len(report.Repaired.Quarantined) != 2 {
		t.Errorf("%+v, %+v, %v", report, report.Repaired, err)
	}
	for _, name := range report.Repaired.Quarantined {
		if _, err := os.Stat(filepath.Join(dir, "quarantine", name)); err != nil {
			t.Error(err)
		}
	}
	r.Traffic()
	run(t, 0, "sync", "--data", dir, "--debug", "127.0.0.1:0")
	if asked := r.Traffic().Asked; len(asked) != 1 || asked[first+7] != 1 {
		t.Errorf("asked for %v", asked)
	}
	if report := checked(t, dir); report.Ledgers != ledgers || len(report.Gaps) > 0 {
		t.Errorf("%+v", report)
	}
}

// A false answer that was kept by a killed process is detected by the next one, which records the
// fault against its server, even if that is not asked any more.
func TestKeptFalseAnswerIsDetected(t *testing.T) {
	honest := serveChain(t, sim.Config{})
	dir := t.TempDir()
	s, err := folder.Open(dir, store.Options{})
	if err != nil {
		t.Fatal(err)
	}
	lie, right := *truth(t, honest, last-3), *truth(t, honest, last-4)
	lie.Transactions = slices.Clone(lie.Transactions)
	lie.Transactions[1].Meta = slices.Clone(lie.Transactions[1].Meta)
	lie.Transactions[1].Meta[len(lie.Transactions[1].Meta)/2] ^= 1
	if s.Keep("http://liar.example", &lie) == 0 || s.Keep("http://liar.example", &right) == 0 {
		t.Fatal("not kept")
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	r := ledgertest.NewRelay(t, honest.URL())
	out, _ := run(t, 0, syncing(dir, first, last, r.URL, "--anchor", truth(t, honest, last).Hash.String(), "--json")...)
	var sum summary
	if err := json.Unmarshal([]byte(out), &sum); err != nil || sum.Ledgers != ledgers {
		t.Fatalf("%s, %v", out, err)
	}
	if asked := r.Traffic().Asked; asked[last-3] != 1 || asked[last-4] != 0 {
		t.Errorf("asked for the lie %d times, for the right one %d", asked[last-3], asked[last-4])
	}
	s, err = store.Open(dir, store.Options{ReadOnly: true})
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	wrong := s.Evidence().All()
	if len(wrong) != 1 || wrong[0].Server != "http://liar.example" || wrong[0].Index != last-3 {
		t.Errorf("%+v", wrong)
	}
	if report, err := folder.CheckStore(t.Context(), s, trust.L2, nil); err != nil || !report.Clean() || report.Ledgers != ledgers || report.Received != 0 {
		t.Errorf("%+v, %v", report, err)
	}
}
