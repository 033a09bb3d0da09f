package soak

import (
	"fmt"
	"math/rand/v2"
	"path/filepath"
	"strconv"
	"testing"
	"time"

	"dyno/services/ledger/ledgertest"
	"dyno/services/ledger/sim"
	"dyno/services/ledger/sim/chain"
)

// A process is killed after 0 to mostLedgers ledgers, and a random moment more, so that it ends
// between any two system calls.
const (
	mostLedgers = 120
	mostMore    = 20 * time.Millisecond
)

// KillResult is the result of Kill.
type KillResult struct {
	Kills    int
	Ledgers  int // stored in the end, all of them true
	Lost     int // answered ledgers that were fetched again: the cost of the kills
	MostLost int // by one kill
}

func (k KillResult) String() string {
	return fmt.Sprintf("%d kills, %d ledgers: %d answers fetched again, %d at most by one kill", k.Kills, k.Ledgers, k.Lost, k.MostLost)
}

// Kill lets a program sync a range and kills it at random moments, as many times as kills says.
// Then the program may finish. Every ledger must be stored, and a kill may cost no more
// answered ledgers than most, in order or prefetched.
func Kill(t testing.TB, p Program, kills, most int, seed uint64) KillResult {
	t.Helper()
	const first = 50_000
	ledgers := (kills + 2) * mostLedgers
	c := makeChain(t, chain.Spec{First: first, Ledgers: ledgers, Transactions: 1, Seed: seed})
	last := uint32(first + ledgers - 1)
	honest := server(t, sim.Config{Chain: c})
	r := ledgertest.NewRelay(t, honest.URL())
	dir := filepath.Join(t.TempDir(), "history")
	random := rand.New(rand.NewPCG(seed, 0))
	k := &killRun{left: map[uint32]bool{}}
	args := []string{"--server", r.URL, "--from", strconv.Itoa(first), "--to", fmt.Sprint(last)}
	for k.Kills < kills {
		process := p.sync(t, dir, args...)
		enough, more := random.IntN(mostLedgers), time.Duration(random.Int64N(int64(mostMore)))
		r.AwaitOr(t, process.Ended(), "a process to fetch some ledgers", func(x ledgertest.Traffic) bool { return len(x.Asked) >= enough })
		select {
		case <-time.After(more): // its progress meanwhile is random
		case <-process.Ended():
			t.Fatalf("it ended with %d before it was killed: %s", process.Wait(t), process.Stderr.String())
		}
		process.Kill()
		process.Wait(t)
		k.recordCrash(r.Traffic())
		if k.MostLost > most {
			t.Fatalf("seed %d: kill %d cost %d answered ledgers, more than the permitted %d", seed, k.Kills, k.MostLost, most)
		}
		args = nil // without flags it continues
		if k.Kills%20 == 0 {
			t.Log(k.KillResult)
		}
	}
	process := p.sync(t, dir)
	if code := process.Wait(t); code != 0 {
		t.Fatalf("seed %d: in the end it exits with %d: %s", seed, code, process.Stderr.String())
	}
	k.recordCrash(r.Traffic())
	k.Kills--
	ledgertest.ReadTruth(t, honest.URL(), first, last).Holds(t, p.Start, dir)
	k.Ledgers = ledgers
	return k.KillResult
}

// killRun counts the ledgers that are fetched again.
type killRun struct {
	KillResult
	left map[uint32]bool // answered by earlier processes
}

// recordCrash adds the traffic of a process that has ended.
func (k *killRun) recordCrash(x ledgertest.Traffic) {
	lost := 0
	for index := range x.Asked {
		if k.left[index] {
			lost++
		}
	}
	k.Lost += lost
	k.MostLost = max(k.MostLost, lost)
	k.Kills++
	for index := range x.Answered {
		k.left[index] = true
	}
}

// Prefetched lets the topmost ledger of a range hang while others are answered, so that none of
// them can be linked, kills the program then, and returns how many of the answers it fetches again.
// Every ledger must be stored in the end.
func Prefetched(t testing.TB, p Program, ledgers int, seed uint64) (again int) {
	t.Helper()
	const first = 70_000
	c := makeChain(t, chain.Spec{First: first, Ledgers: ledgers, Transactions: 3, Seed: seed})
	last := uint32(first + ledgers - 1)
	honest := server(t, sim.Config{Chain: c})
	r := ledgertest.NewRelay(t, honest.URL())
	r.Decide(func(a ledgertest.Ask) ledgertest.Verdict {
		if a.Index == last && a.Whole {
			return ledgertest.Hang
		}
		return ledgertest.Pass
	})
	dir := filepath.Join(t.TempDir(), "history")
	process := p.sync(t, dir, "--server", r.URL, "--from", strconv.Itoa(first), "--to", fmt.Sprint(last))
	r.AwaitOr(t, process.Ended(), "most ledgers below the topmost", func(x ledgertest.Traffic) bool { return len(x.Answered) >= ledgers*3/4 })
	process.Kill()
	process.Wait(t)
	before := r.Traffic().Answered
	r.Decide(nil)
	process = p.sync(t, dir, "--server", r.URL, "--from", strconv.Itoa(first), "--to", fmt.Sprint(last))
	if code := process.Wait(t); code != 0 {
		t.Fatalf("seed %d: afterwards it exits with %d: %s", seed, code, process.Stderr.String())
	}
	for index := range r.Traffic().Asked {
		if before[index] > 0 {
			again++
		}
	}
	ledgertest.ReadTruth(t, honest.URL(), first, last).Holds(t, p.Start, dir)
	return again
}
