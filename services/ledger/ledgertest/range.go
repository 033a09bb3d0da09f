package ledgertest

import (
	"os"
	"path/filepath"
	"slices"
	"strings"

	"dyno/parts/servicetest"
	"dyno/parts/servicetest/program"
	"dyno/services/ledger/xrpl/history"
)

func storesRange(c *client) {
	r := NewRelay(c.t, c.world.honest.URL())
	got := c.sync(servers(r.URL), c.span(first, last))
	c.holds(whole)
	bytes := int64(0)
	for _, is := range c.world.truth {
		bytes += int64(len(is.text))
	}
	c.expect(got.Ledgers == ledgers && got.Elapsed > 0 && got.Rate > 0, "sync says %+v", got)
	c.expect(got.Bytes >= bytes, "sync says %d bytes; the ledgers alone have %d digits", got.Bytes, bytes)
	c.expect(len(got.Blamed) == 0 && len(got.Gaps) == 0, "sync blames an honest server: %+v", got)
	known := slices.Contains([]string{"server", "bytes", "cpu", "disk"}, got.BoundBy)
	c.expect(!c.whole || known && got.P95 > 0, "sync says %+v", got)
	asked := r.Traffic().Asked
	c.expect(len(asked) == ledgers, "%d ledgers were asked for, of %d", len(asked), ledgers)
}

// doesNothingTwice: what is stored is not fetched again, with flags or without.
func doesNothingTwice(c *client) {
	r := NewRelay(c.t, c.world.honest.URL())
	c.sync(servers(r.URL), c.span(first, last))
	r.Traffic()
	for _, args := range [][]string{nil, c.span(first, last), c.span(first+10, last-10)} {
		got := c.sync(servers(r.URL), args)
		asked := r.Traffic().Asked
		c.expect(got.Ledgers == 0 && len(got.Gaps) == 0 && len(asked) == 0, "sync %v of what is stored asks for %v and says %+v", args, asked, got)
	}
	c.holds(whole)
}

// joinsNeighbours: what is stored of one range is not fetched again for another.
func joinsNeighbours(c *client) {
	r := NewRelay(c.t, c.world.honest.URL())
	for _, step := range []struct {
		from, to uint32
		want     []history.Range
	}{
		{first + 40, first + 59, []history.Range{span(first+40, first+59)}},
		{first + 20, first + 39, []history.Range{span(first+20, first+59)}},
		{last - 4, last, []history.Range{span(first+20, first+59), span(last-4, last)}},
		{first, last, []history.Range{whole}},
	} {
		c.sync(servers(r.URL), c.span(step.from, step.to))
		c.holds(step.want...)
	}
	asked := r.Traffic()
	// On a busy machine one may have been late, and asked for again.
	c.expect(len(asked.Answered) == ledgers && asked.Again() <= ledgers/10, "%d ledgers were fetched, %d again", len(asked.Answered), asked.Again())
}

// Batch is how many ledgers may be on their way to the disk when a program dies, to be fetched
// again: those of one write.
const Batch = 32

// middle is where the server stops to answer.
const middle = first + ledgers/2

// interrupted starts a sync whose server stops to answer in the middle of the range, and returns
// when it has, and all that was answered but a batch is on the disk. That takes a look at the disk:
// what was answered may not have been read yet.
func (c *client) interrupted(r *Relay) *program.Process {
	c.t.Helper()
	r.Decide(func(a Ask) Verdict {
		if a.Index > middle || !a.Whole {
			return Pass
		}
		return Hang
	})
	p := c.begin(servers(r.URL), c.span(first, last))
	r.Await(c.t, "the middle of the range to be asked for", func(t Traffic) bool {
		return len(t.Answered) == last-middle && t.Asked[middle] > 0
	})
	servicetest.Await(c.t, func() string { return "the answers to be stored; it said: " + p.Stderr.String() }, func() bool {
		return c.wouldSurvive() >= last-middle-Batch
	})
	return p
}

// wouldSurvive is how many ledgers would be stored if the program died now: those in a copy of its
// folder. It is 0 when the copy cannot be read because the program wrote meanwhile.
func (c *client) wouldSurvive() int {
	c.t.Helper()
	copied := filepath.Join(c.t.TempDir(), "copy")
	defer os.RemoveAll(copied)
	if err := os.CopyFS(copied, os.DirFS(c.dir)); err != nil {
		return 0
	}
	p := c.start(c.t, "export", "--data", copied)
	if p.Wait(c.t) != 0 {
		return 0
	}
	return strings.Count(p.Stdout.String(), "\n")
}

// goesOn runs the sync to its end, without flags.
func (c *client) goesOn(r *Relay) {
	c.t.Helper()
	r.Traffic()
	r.Decide(nil)
	got := c.sync()
	c.holds(whole)
	c.expect(len(got.Gaps) == 0, "sync says %+v", got)
	again := 0
	for index := range r.Traffic().Answered {
		if index > middle {
			again++
		}
	}
	c.expect(again <= Batch, "%d ledgers that had been fetched were fetched again, of at most %d", again, Batch)
}

func goesOnStopped(c *client) {
	r := NewRelay(c.t, c.world.honest.URL())
	p := c.interrupted(r)
	p.Stop()
	p.Wait(c.t)
	c.sane(p)
	c.goesOn(r)
}

func goesOnKilled(c *client) {
	r := NewRelay(c.t, c.world.honest.URL())
	p := c.interrupted(r)
	p.Kill()
	p.Wait(c.t)
	c.goesOn(r)
}
