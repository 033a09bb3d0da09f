package store

import (
	"math"
	"strings"
	"testing"
	"time"
)

func TestThrift(t *testing.T) {
	begin := time.Unix(1_790_000_000, 0)
	sum, at := Stats{}, begin
	watched := newThrift(sum)
	for i, c := range []struct {
		acquires, opened, statements, prepares uint64
		after                                  time.Duration
		reuse, cached                          float64
		warns                                  []string
	}{
		{10_000, 1_500, 10_000, 800, thriftPeriod, 0.85, 0.92, nil}, // just enough
		{10_000, 1_501, 10_000, 800, thriftPeriod, 0.8499, 0.92, []string{"connections"}},
		{10_000, 9_000, 10_000, 801, thriftPeriod, 0.1, 0.9199, []string{"statements"}}, // the other was said a moment ago
		{10_000, 9_000, 10_000, 9_000, thriftPause, 0.1, 0.1, []string{"connections", "statements"}},
		{thriftLeast - 1, thriftLeast - 1, thriftLeast - 1, thriftLeast - 1, time.Hour, math.NaN(), math.NaN(), nil}, // too few
		{thriftLeast, 2 * thriftLeast, thriftLeast, 0, time.Hour, 0, 1, []string{"connections"}},
	} {
		before := sum.Pools["reads"]
		sum.Pools = map[string]Pool{"lists": {Acquires: 7, Opened: 1}, "reads": {Acquires: before.Acquires + c.acquires, Opened: before.Opened + c.opened}}
		if i == 0 {
			watched.last.Pools = map[string]Pool{"lists": {Acquires: 7, Opened: 1}}
		}
		sum.Statements += c.statements
		sum.Prepares += c.prepares
		at = at.Add(c.after)
		warnings := watched.look(sum, at)
		if len(warnings) != len(c.warns) {
			t.Fatalf("%d: it warns %q, want of %q", i, warnings, c.warns)
		}
		for n, what := range c.warns {
			if !strings.HasPrefix(warnings[n], "of the "+what) {
				t.Errorf("%d: it warns %q, want of %s", i, warnings[n], what)
			}
		}
		for _, s := range []struct{ got, want float64 }{{watched.reuse.get(), c.reuse}, {watched.cached.get(), c.cached}} {
			if math.Abs(s.got-s.want) > 1e-9 || math.IsNaN(s.got) != math.IsNaN(s.want) {
				t.Errorf("%d: a share of %v, want %v", i, s.got, s.want)
			}
		}
	}
}
