package ledgertest

import (
	"encoding/json"
	"strconv"
	"strings"
	"testing"

	"dyno/parts/servicetest/program"
	"dyno/services/ledger/xrpl/history"
)

// client runs the program over a folder of its own.
type client struct {
	scope
	t     testing.TB
	world *world
	dir   string
}

// Result is the last line of sync --json.
type Result struct {
	Ledgers   int
	Bytes     int64
	Elapsed   float64 `json:"elapsed_s"`
	Rate      float64 `json:"ledgers_per_s"`
	P95       float64 `json:"p95_ms"`
	BoundBy   string  `json:"bound_by"`
	Refetched int
	Blamed    []struct {
		Server, Reason string
		Count          int
	}
	Gaps   []string
	Marked []mark
}

// mark is a ledger that has its hash and does not verify at L4.
type mark struct {
	Index  uint32 `json:"ledger_index"`
	Reason string
}

// gaps are the ranges that are said to be missing.
func (r Result) gaps(t testing.TB) history.Set {
	t.Helper()
	s, err := history.ParseSet(strings.Join(r.Gaps, ","))
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// Guilty is how many wrong answers each server is blamed for.
func (r Result) Guilty() map[string]int {
	out := map[string]int{}
	for _, b := range r.Blamed {
		out[b.Server] += b.Count
	}
	return out
}

// span is how a range is asked for, with its highest ledger's true hash.
func (c *client) span(from, to uint32) []string {
	return append(spanOnly(from, to), "--anchor", c.world.truth[to].hash)
}

func spanOnly(from, to uint32) []string {
	return []string{"--from", strconv.FormatUint(uint64(from), 10), "--to", strconv.FormatUint(uint64(to), 10)}
}

func servers(urls ...string) (args []string) {
	for _, url := range urls {
		args = append(args, "--server", url)
	}
	return args
}

// begin starts a sync.
func (c *client) begin(args ...[]string) *program.Process {
	c.t.Helper()
	all := []string{"sync", "--data", c.dir, "--json"}
	for _, a := range args {
		all = append(all, a...)
	}
	return c.start(c.t, all...)
}

// ends waits for a sync and reads what it says.
func (c *client) ends(p *program.Process, code int) Result {
	c.t.Helper()
	if got := p.Wait(c.t); got != code {
		c.t.Fatalf("sync exits with %d, want %d; it said:\n%s", got, code, p.Stderr.String())
	}
	c.sane(p)
	return ResultOf(c.t, p)
}

// ResultOf reads what a sync --json that has ended says of itself.
func ResultOf(t testing.TB, p *program.Process) (r Result) {
	t.Helper()
	lines := strings.Split(strings.TrimSpace(p.Stdout.String()), "\n")
	if err := json.Unmarshal([]byte(lines[len(lines)-1]), &r); err != nil {
		t.Fatalf("the last line of --json is %q: %v; stderr: %s", lines[len(lines)-1], err, p.Stderr.String())
	}
	return r
}

// sane holds that an error is reported in words.
func (c *client) sane(p *program.Process) {
	c.t.Helper()
	said := p.Stderr.String()
	if strings.Contains(said, "goroutine ") || strings.Contains(said, "panic:") {
		c.t.Fatalf("a stack trace:\n%s", said)
	}
	if p.Wait(c.t) != 0 && strings.TrimSpace(said) == "" {
		c.t.Fatalf("it exits with %d and does not say why", p.Wait(c.t))
	}
}

// sync runs one that has to succeed.
func (c *client) sync(args ...[]string) Result {
	c.t.Helper()
	return c.ends(c.begin(args...), 0)
}

// fails runs a sync that has to fail.
func (c *client) fails(args ...[]string) (Result, string) {
	c.t.Helper()
	p := c.begin(append(args, c.hasty)...)
	return c.ends(p, 1), p.Stderr.String()
}

// lacks runs a sync that cannot get a range, and holds that all others are stored. A process that a
// busy machine kept from running may give up early; what it stored stays, so the next one goes on
// from there.
func (c *client) lacks(missing history.Range, args ...[]string) (got Result, said string) {
	c.t.Helper()
	for range 10 {
		if got, said = c.fails(args...); got.gaps(c.t).String() == missing.String() {
			return got, said
		}
	}
	c.t.Fatalf("sync says that %v is missing, want %v", got.Gaps, missing)
	return got, said
}

// run runs a command that ends with a code, and returns what it prints.
func (c *client) run(code int, args ...string) (stdout, stderr string) {
	c.t.Helper()
	p := c.start(c.t, args...)
	if got := p.Wait(c.t); got != code {
		c.t.Fatalf("%s exits with %d, want %d; it said:\n%s\n%s", args[0], got, code, p.Stdout.String(), p.Stderr.String())
	}
	c.sane(p)
	return p.Stdout.String(), p.Stderr.String()
}

// holds checks that exactly these ranges are stored, that every byte is true, and that the program
// thinks so, too.
func (c *client) holds(want ...history.Range) {
	c.t.Helper()
	out, _ := c.run(0, "export", "--data", c.dir)
	c.isTrue(readLines(c.t, out), want...)
	if c.whole {
		c.clean(want...)
	}
}

func (c *client) isTrue(stored contents, want ...history.Range) {
	c.t.Helper()
	n := 0
	for _, r := range want {
		n += r.Len()
		for i := r.From; i <= r.To; i++ {
			is, found := stored[i]
			if !found {
				c.t.Fatalf("ledger %d is not stored", i)
			}
			if is != c.world.truth[i] {
				c.t.Fatalf("ledger %d is stored wrongly: %.300s, want %.300s", i, is, c.world.truth[i])
			}
		}
	}
	if len(stored) != n {
		c.t.Fatalf("%d ledgers are stored, want %d", len(stored), n)
	}
}

// clean runs check.
func (c *client) clean(want ...history.Range) {
	c.t.Helper()
	out, _ := c.run(0, "check", "--data", c.dir, "--json")
	var report struct {
		Ledgers, Transactions, Links int
		Failed                       []json.RawMessage
	}
	if err := json.Unmarshal([]byte(out), &report); err != nil {
		c.t.Fatalf("check --json prints %q: %v", out, err)
	}
	n := 0
	for _, r := range want {
		n += r.Len()
	}
	links := n - len(want) // none is empty
	if report.Ledgers != n || report.Transactions != n*transactions || report.Links != links || len(report.Failed) > 0 {
		c.t.Fatalf("check says %+v of %d ledgers", report, n)
	}
}

func span(from, to uint32) history.Range { return history.Range{From: from, To: to} }

// whole is the suite's chain.
var whole = span(first, last)

// expect fails the test when something is not as it has to be.
func (c *client) expect(ok bool, format string, args ...any) {
	c.t.Helper()
	if !ok {
		c.t.Fatalf(format, args...)
	}
}
