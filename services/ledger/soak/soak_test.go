package soak

import (
	"flag"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"dyno/parts/quicktest"
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
	set    settings
)

func init() {
	flag.Var(&set, "set", "a setting or seam of ledgersync, such as decoder=json; repeatable")
}

// settings is the value of a flag that can be repeated.
type settings []string

func (s *settings) String() string { return strings.Join(*s, " ") }

func (s *settings) Set(value string) error {
	*s = append(*s, value)
	return nil
}

func TestMain(m *testing.M) {
	goleak.VerifyTestMain(m, goleak.Cleanup(func(code int) {
		os.RemoveAll(binaries)
		os.Exit(code)
	}))
}

// After each kill the client continues, loses almost no work, and stores only true ledgers.
func TestKill(t *testing.T) {
	quicktest.Skip(t, "kills a client again and again")
	t.Log(Kill(t, subject(t), *kills, *again, chooseSeed(t)))
}

// Prefetched answers are not fetched again either.
func TestPrefetched(t *testing.T) {
	quicktest.Skip(t, "takes several seconds")
	if n := Prefetched(t, subject(t), 400, chooseSeed(t)); n > *again {
		t.Errorf("%d answers were fetched again, of at most %d", n, *again)
	}
}

// Whatever servers answer, only true ledgers are stored, all of them, and faults are recorded only
// for servers with false answers.
func TestFaults(t *testing.T) {
	quicktest.Skip(t, "takes several seconds")
	t.Log(Faults(t, subject(t), *faults, chooseSeed(t)))
}

// A ledger that failed at one server comes from another.
func TestElsewhere(t *testing.T) {
	quicktest.Skip(t, "takes several seconds")
	took := Elsewhere(t, subject(t), 400, chooseSeed(t))
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
		u := b.use(t, subject(t), *within, chooseSeed(t))
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

func chooseSeed(t *testing.T) uint64 {
	s := *seed
	if s == 0 {
		s = uint64(time.Now().UnixNano())
	}
	t.Logf("-seed %d", s)
	return s
}

// build builds the client, once for all tests.
var build = sync.OnceValues(func() (path string, err error) {
	if binaries, err = os.MkdirTemp("", "soak"); err != nil {
		return "", err
	}
	path = filepath.Join(binaries, "client")
	if out, err := exec.Command("go", "build", "-o", path, "dyno/services/ledger/cmd/ledgersync").CombinedOutput(); err != nil {
		return "", fmt.Errorf("building ledgersync: %w\n%s", err, out)
	}
	return path, nil
})

// binaries is the folder of what build built; TestMain removes it.
var binaries string

func subject(t *testing.T) Program {
	t.Helper()
	path, err := build()
	if err != nil {
		t.Fatal(err)
	}
	p := Program{Start: program.Binary(path)}
	for _, s := range set {
		p.Sync = append(p.Sync, "--set", s)
	}
	return p
}
