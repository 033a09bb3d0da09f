package ledger

import (
	"encoding/json"
	"strings"
	"testing"

	"dyno/services/ledger/sim"
)

// After a sync that checked a sample of signatures, sync and check report that it was a sample.
func TestSampleIsReported(t *testing.T) {
	t.Parallel()
	s, dir := serveChain(t, sim.Config{}), t.TempDir()
	const want = "L4 with the signatures of one ledger in 10"
	out, _ := run(t, 0, syncing(dir, first+10, last, s.URL(), "--level", "L4", "--set", "signature_sample=10")...)
	if !strings.Contains(out, "proved at "+want) {
		t.Errorf("sync says %s", out)
	}
	out, _ = run(t, 0, syncing(dir, first, last, s.URL(), "--level", "L4", "--json")...) // all ledgers below
	var sum summary
	if err := json.Unmarshal([]byte(out), &sum); err != nil || sum.Proved != want || sum.Signatures != 10*transactions {
		t.Errorf("sync --json says %s, %v", out, err)
	}
	if report := checked(t, dir); report.Synced != want {
		t.Errorf("check says %s", report.Synced)
	}
	dir = t.TempDir()
	if out, _ = run(t, 0, syncing(dir, first, last, s.URL(), "--level", "L4")...); strings.Contains(out, "proved at") {
		t.Errorf("sync says %s", out)
	}
	if report := checked(t, dir); report.Synced != "L4" {
		t.Errorf("check says %s", report.Synced)
	}
}
