package ledgertest

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
)

// verdictOf is what verify --json prints.
type verdictOf struct {
	Ledgers, Verified, Transactions, Signatures, Links int
	Failed                                             []struct {
		Line   int
		Index  uint32 `json:"ledger_index"`
		Reason string
	}
}

func (c *client) verify(code int, path, level string) (v verdictOf) {
	c.t.Helper()
	out, _ := c.run(code, "verify", path, "--level", level, "--json")
	if err := json.Unmarshal([]byte(out), &v); err != nil {
		c.t.Fatalf("verify --json prints %q: %v", out, err)
	}
	return v
}

func verifiesExport(c *client) {
	path := c.exported()
	for _, level := range []string{"L1", "L2", "L4"} {
		v := c.verify(0, path, level)
		c.expect(v.Ledgers == ledgers && v.Verified == ledgers && v.Transactions == ledgers*transactions && len(v.Failed) == 0, "verify at %s says %+v", level, v)
		c.expect(level == "L1" || v.Links == ledgers-1, "verify at %s finds %d links, want %d", level, v.Links, ledgers-1)
		c.expect((level == "L4") == (v.Signatures > 0), "verify at %s checks %d signatures", level, v.Signatures)
	}
}

// findsTampering changes one digit of one ledger at a time.
func findsTampering(c *client) {
	text, err := os.ReadFile(c.exported())
	if err != nil {
		c.t.Fatal(err)
	}
	lines := strings.SplitAfter(string(text), "\n")
	const line = 17 // from 0
	index, _, err := readAnswer([]byte(lines[line]))
	if err != nil {
		c.t.Fatal(err)
	}
	for _, field := range []string{"ledger_data", "tx_blob", "meta"} {
		at := strings.Index(lines[line], `"`+field+`":"`) + len(field) + 4 + 40 // inside the text
		changed := []byte(lines[line])
		changed[at] = otherDigit(changed[at])
		path := filepath.Join(c.t.TempDir(), "tampered.jsonl")
		tampered := strings.Join(lines[:line], "") + string(changed) + strings.Join(lines[line+1:], "")
		if err := os.WriteFile(path, []byte(tampered), 0o600); err != nil {
			c.t.Fatal(err)
		}
		v := c.verify(1, path, "L1")
		c.expect(len(v.Failed) == 1 && v.Failed[0].Line == line+1 && v.Failed[0].Index == index && v.Failed[0].Reason != "",
			"a digit of %s in line %d, ledger %d, was changed; verify says %+v", field, line+1, index, v.Failed)
	}
}

func otherDigit(digit byte) byte {
	if digit == '0' {
		return '1'
	}
	return '0'
}

// pack makes a pack of a part of the chain.
func (c *client) pack(from, to uint32) (path string) {
	c.t.Helper()
	c.exported()
	path = filepath.Join(c.t.TempDir(), "ledgers.pack")
	c.run(0, append([]string{"pack", "--data", c.dir, "-o", path}, spanOnly(from, to)...)...)
	return path
}

// packs: what was packed here is the same there, and can be gone on with.
func packs(c *client) {
	path := c.pack(first+10, last-10)
	c.dir += "-unpacked"
	c.run(0, "unpack", path, "--data", c.dir)
	c.holds(span(first+10, last-10))
	r := NewRelay(c.t, c.world.honest.URL())
	c.sync(servers(r.URL), c.span(first, last))
	c.holds(whole)
	asked := r.Traffic().Asked
	c.expect(len(asked) == 20, "%d ledgers were asked for, 20 were missing", len(asked))
}

func refusesPack(c *client) {
	pack, err := os.ReadFile(c.pack(first, last))
	if err != nil {
		c.t.Fatal(err)
	}
	dir := c.dir
	damages := map[string]func([]byte) []byte{
		"cut":   func(b []byte) []byte { return b[:len(b)*2/3] },
		"empty": func([]byte) []byte { return nil },
		"begin": func(b []byte) []byte { b[len(b)/10] ^= 1; return b },
		"half":  func(b []byte) []byte { b[len(b)/2] ^= 16; return b },
		"end":   func(b []byte) []byte { b[len(b)-3] ^= 128; return b },
	}
	for name, damage := range damages {
		path := filepath.Join(c.t.TempDir(), name+".pack")
		if err := os.WriteFile(path, damage(append([]byte{}, pack...)), 0o600); err != nil {
			c.t.Fatal(err)
		}
		c.dir = dir + "-" + name
		c.run(1, "unpack", path, "--data", c.dir)
		c.stored(c.dir)
	}
}

// stored holds that whatever there is in a folder is true.
func (c *client) stored(dir string) {
	c.t.Helper()
	p := c.start(c.t, "export", "--data", dir)
	if p.Wait(c.t) != 0 {
		return // there is nothing
	}
	for index, is := range readLines(c.t, p.Stdout.String()) {
		c.expect(is == c.world.truth[index], "ledger %d is stored wrongly", index)
	}
}
