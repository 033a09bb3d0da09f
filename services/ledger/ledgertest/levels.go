package ledgertest

import (
	"fmt"
	"path/filepath"

	"dyno/services/ledger/history"
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

// storesAtEveryLevel: an honest server satisfies all of them, and a server with wrong signatures, to which its whole chain
// is linked, all but L4 as long as nobody knows better.
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
		got, _ := c.fails(args...)
		c.expect(got.Guilty()[forged.URL()] > 0, "nobody is blamed for wrong signatures: %+v", got)
	}
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
