package ledgertest

import (
	"encoding/json"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"dyno/services/ledger/sim"
	"dyno/services/ledger/sim/fault"
	"dyno/services/ledger/xrpl/history"
)

// linksFromAbove: the hash of a ledger above the range proves the range.
func linksFromAbove(c *client) {
	top := c.world.truth[last]
	url := c.world.honest.URL()
	c.sync(servers(url), spanOnly(first, last-10), []string{"--anchor", fmt.Sprintf("%d:%s", last, top.hash)})
	c.holds(span(first, last-10))
	c.dir += "-false"
	got, _ := c.fails(servers(url), spanOnly(first, last-10), []string{"--anchor", fmt.Sprintf("%d:%s", last, c.world.truth[first].hash)})
	c.expect(got.Ledgers == 0, "sync says %+v", got)
}

// storesAtEveryLevel: an honest server satisfies all of them, and a server with wrong signatures,
// to which its whole chain is linked, all but L4, which marks those ledgers.
func storesAtEveryLevel(c *client) {
	dir, forged := c.dir, forged(c.t)
	for _, level := range []string{"L0", "L1", "L2", "L4"} {
		c.dir = dir + level
		c.sync(servers(c.world.honest.URL()), c.span(first, last), []string{"--level", level})
		c.holds(whole)
		c.dir = dir + level + "-forged"
		args := [][]string{servers(forged.URL()), spanOnly(first, last), {"--level", level}}
		if level != "L4" {
			c.sync(args...)
			continue
		}
		c.marks(forged, args...)
	}
}

// marks: ledgers that have their hashes and do not verify at L4 are stored, no server is blamed,
// and all commands agree on how many they are, and which.
func (c *client) marks(forged *sim.Sim, args ...[]string) {
	c.t.Helper()
	truth := readChain(c.t, forged.URL(), first, last)
	want := slices.Sorted(maps.Keys(forged.Injected().Faults[fault.Forged].Ledgers))
	agrees := func(who, said string, got []mark) {
		c.t.Helper()
		var which []uint32
		for _, m := range got {
			which = append(which, m.Index)
			c.expect(strings.Contains(m.Reason, "wrong signature"), "%s says of ledger %d: %s", who, m.Index, m.Reason)
		}
		slices.Sort(which) // what failed is in the order in which it was found
		c.expect(len(want) > 0 && slices.Equal(which, want), "%s marks %v, not %v", who, which, want)
		c.expect(strings.Contains(said, "L4"), "%s says %q", who, said)
	}
	for range 2 { // the second time there is nothing to do, and as much to say
		got, said := c.fails(args...)
		agrees("sync", said, got.Marked)
		c.expect(len(got.Blamed) == 0 && len(got.Gaps) == 0 && got.Refetched == 0, "sync says %+v", got)
	}
	out, _ := c.run(0, "export", "--data", c.dir)
	stored := readLines(c.t, out)
	c.expect(maps.Equal(stored, truth), "%d ledgers are stored, not the %d of the server", len(stored), len(truth))

	var report struct {
		Ledgers, Signatures int
		Marked, Failed      []mark
	}
	read := func(out string) {
		c.t.Helper()
		report.Marked, report.Failed = nil, nil
		if err := json.Unmarshal([]byte(out), &report); err != nil {
			c.t.Fatalf("%v: %q", err, out)
		}
	}
	text, said := c.run(1, "check", "--data", c.dir, "--json")
	read(text)
	agrees("check", said, report.Marked)
	agrees("check", said, report.Failed)
	c.expect(report.Signatures > 0, "check after a sync at L4 checks no signatures")
	signatures := report.Signatures
	text, _ = c.run(0, "check", "--data", c.dir, "--level", "L2", "--json")
	read(text)
	agrees("check at L2", "L4", report.Marked)
	text, _ = c.run(0, "evidence", "--data", c.dir)
	c.expect(strings.Contains(text, fmt.Sprintf("L4: %d (%d", len(want), want[0])), "evidence says %q", text)

	path := filepath.Join(c.t.TempDir(), "forged.jsonl")
	if err := os.WriteFile(path, []byte(out), 0o600); err != nil {
		c.t.Fatal(err)
	}
	text, said = c.run(1, "verify", path, "--level", "L4", "--json")
	read(text)
	agrees("verify", said+" L4", report.Marked)
	c.expect(report.Signatures == signatures, "verify checks %d signatures, check %d", report.Signatures, signatures)
}

// exported syncs the chain and exports it to a file.
func (c *client) exported() (path string) {
	c.t.Helper()
	c.sync(servers(c.world.honest.URL()), c.span(first, last))
	path = filepath.Join(c.t.TempDir(), "ledgers.jsonl")
	c.run(0, "export", "--data", c.dir, "--format", "ndjson", "-o", path)
	return path
}

func exportsPart(c *client) {
	c.exported()
	out, _ := c.run(0, append([]string{"export", "--data", c.dir, "--format", "ndjson"}, spanOnly(first+5, first+9)...)...)
	c.isTrue(readLines(c.t, out), history.Range{From: first + 5, To: first + 9})
}
