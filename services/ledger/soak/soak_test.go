package soak

import (
	"flag"
	"os"
	"slices"
	"testing"
	"time"

	"dyno/parts/process/processtest"
	"dyno/parts/quicktest"
	"dyno/parts/servicetest"
	"dyno/parts/servicetest/program"
	"dyno/services/ledger/ledgertest"
	"dyno/services/ledger/sim/fault"

	"go.uber.org/goleak"
)

var (
	kills  = flag.Int("kills", 4, "how often TestKill kills the client")
	faults = flag.Int("faults", 40, "how many wrong or troubled answers TestFaults waits for")
	again  = flag.Int("again", ledgertest.Batch, "how many ledgers that had been answered a kill may cost")
	seed   = flag.Uint64("seed", 0, "of what is random; 0: another each time")
	within = flag.Duration("within", 0, "how long TestBudgets measures what a client uses of its servers' budgets; 0: it is skipped")
	set    []string
)

func init() {
	flag.Func("set", "a setting or seam of ledgersync, such as decoder=json; repeatable", func(value string) error {
		set = append(set, value)
		return nil
	})
}

var builds processtest.Builds

func TestMain(m *testing.M) {
	goleak.VerifyTestMain(m, goleak.Cleanup(func(code int) {
		builds.Remove()
		os.Exit(code)
	}))
}

// After each kill the client continues, loses almost no work, and stores only true ledgers.
func TestKill(t *testing.T) {
	quicktest.Skip(t, "kills a client again and again")
	t.Log(Kill(t, subject(t), *kills, *again, servicetest.Seed(t, *seed)))
}

// Prefetched answers are not fetched again either.
func TestPrefetched(t *testing.T) {
	quicktest.Skip(t, "takes several seconds")
	if n := Prefetched(t, subject(t), 400, servicetest.Seed(t, *seed)); n > *again {
		t.Errorf("%d answers were fetched again, of at most %d", n, *again)
	}
}

// Whatever servers answer, only true ledgers are stored, all of them, and faults are recorded only
// for servers with false answers.
func TestFaults(t *testing.T) {
	quicktest.Skip(t, "takes several seconds")
	t.Log(Faults(t, subject(t), *faults, servicetest.Seed(t, *seed)))
}

// A ledger that failed at one server comes from another.
func TestElsewhere(t *testing.T) {
	quicktest.Skip(t, "takes several seconds")
	took := Elsewhere(t, subject(t), 400, servicetest.Seed(t, *seed))
	if len(took) == 0 {
		t.Fatal("no request failed: nothing was tested")
	}
	slices.Sort(took)
	t.Logf("%d failed requests: another answer came after %v in the median, %v at most", len(took), took[len(took)/2], took[len(took)-1])
}

// What servers with limits allow is used, and no more. The figures are logged: they depend on time,
// and decide nothing.
func TestBudgets(t *testing.T) {
	if *within == 0 {
		t.Skip("it takes minutes: give -within 15s")
	}
	for _, b := range budgets {
		u := b.use(t, subject(t), *within, servicetest.Seed(t, *seed))
		t.Logf("%d x %s: %.1f%% of the budget used, %.3f%% of the requests refused, after %v", b.servers, b.limits, 100*u.share, 100*u.refused, b.settle)
	}
}

// The budget that binds is the one of which the larger share was used.
func TestJudge(t *testing.T) {
	u := budgets[0].judge(fault.Injected{Answers: 100, Bytes: 1e6, Refused: 5}, fault.Injected{Answers: 200, Bytes: 20e6, Refused: 6}, 10*time.Second)
	if u.share != 0.95 || u.refused != 1.0/101 {
		t.Errorf("%+v", u)
	}
	if u := budgets[1].judge(fault.Injected{}, fault.Injected{Answers: 2500, Bytes: 1e9}, 10*time.Second); u.share != 1 || u.refused != 0 {
		t.Errorf("%+v", u)
	}
}

func subject(t *testing.T) Program {
	t.Helper()
	p := Program{Start: program.Binary(builds.Program(t, "dyno/services/ledger/cmd/ledgersync"))}
	for _, s := range set {
		p.Sync = append(p.Sync, "--set", s)
	}
	return p
}
