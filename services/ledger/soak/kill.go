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
)

// What a life is long: from nothing at all to some hundred ledgers, and a moment more, so that it ends anywhere between
// two system calls.
const (
	mostLedgers = 120
	mostMore    = 20 * time.Millisecond
)

// Killed is what a soak with kill -9 came to.
type Killed struct {
	Kills    int
	Ledgers  int // stored in the end, all of them true
	Lost     int // ledgers fetched again that had been answered: what the kills cost
	MostLost int // by one kill
}

func (k Killed) String() string {
	return fmt.Sprintf("%d kills, %d ledgers: %d answers fetched again, %d at most by one kill", k.Kills, k.Ledgers, k.Lost, k.MostLost)
}

// Kill lets a program sync a range and kills it at random moments, until it has died so often. Then it may end. Everything has
// to be stored, and a kill may cost no more than most ledgers that had been answered, in their turn or ahead of it.
func Kill(t testing.TB, p Program, kills, most int, seed uint64) Killed {
	t.Helper()
	const first = 50_000
	ledgers := (kills + 2) * mostLedgers
	c := chain(t, sim.ChainConfig{First: first, Ledgers: ledgers, Transactions: 1, Seed: seed})
	last := uint32(first + ledgers - 1)
	honest := server(t, sim.Config{Chain: c})
	r := ledgertest.NewRelay(t, honest.URL())
	dir := filepath.Join(t.TempDir(), "history")
	random := rand.New(rand.NewPCG(seed, 0))
	k := &killing{left: map[uint32]bool{}}
	args := []string{"--server", r.URL, "--from", strconv.Itoa(first), "--to", fmt.Sprint(last)}
	for k.Kills < kills {
		life := p.sync(t, dir, args...)
		enough, more := random.IntN(mostLedgers), time.Duration(random.Int64N(int64(mostMore)))
		r.AwaitOr(t, life.Ended(), "a process to fetch some ledgers", func(x ledgertest.Traffic) bool { return len(x.Asked) >= enough })
		select {
		case <-time.After(more): // how far it comes meanwhile is chance
		case <-life.Ended():
			t.Fatalf("it ended with %d before it was killed: %s", life.Wait(t), life.Stderr.String())
		}
		life.Kill()
		life.Wait(t)
		k.died(r.Traffic())
		if k.MostLost > most {
			t.Fatalf("seed %d: kill %d cost %d ledgers that had been answered, of at most %d", seed, k.Kills, k.MostLost, most)
		}
		args = nil // without further flags it goes on
		if k.Kills%20 == 0 {
			t.Log(k.Killed)
		}
	}
	life := p.sync(t, dir)
	if code := life.Wait(t); code != 0 {
		t.Fatalf("seed %d: in the end it exits with %d: %s", seed, code, life.Stderr.String())
	}
	k.died(r.Traffic())
	k.Kills--
	ledgertest.ReadTruth(t, honest.URL(), first, last).Holds(t, p.Start, dir)
	k.Ledgers = ledgers
	return k.Killed
}

// killing counts what is fetched again.
type killing struct {
	Killed
	left map[uint32]bool // answered in lives before
}

// died takes the account of a life.
func (k *killing) died(x ledgertest.Traffic) {
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

// Ahead lets the topmost ledger of a range hang while others are answered, so that none of them can be linked, kills the
// program then, and says how many of the answers it fetches again. Everything has to be stored in the end.
func Ahead(t testing.TB, p Program, ledgers int, seed uint64) (again int) {
	t.Helper()
	const first = 70_000
	c := chain(t, sim.ChainConfig{First: first, Ledgers: ledgers, Transactions: 3, Seed: seed})
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
	life := p.sync(t, dir, "--server", r.URL, "--from", strconv.Itoa(first), "--to", fmt.Sprint(last))
	r.AwaitOr(t, life.Ended(), "most ledgers below the topmost", func(x ledgertest.Traffic) bool { return len(x.Answered) >= ledgers*3/4 })
	life.Kill()
	life.Wait(t)
	before := r.Traffic().Answered
	r.Decide(nil)
	life = p.sync(t, dir, "--server", r.URL, "--from", strconv.Itoa(first), "--to", fmt.Sprint(last))
	if code := life.Wait(t); code != 0 {
		t.Fatalf("seed %d: afterwards it exits with %d: %s", seed, code, life.Stderr.String())
	}
	for index := range r.Traffic().Asked {
		if before[index] > 0 {
			again++
		}
	}
	ledgertest.ReadTruth(t, honest.URL(), first, last).Holds(t, p.Start, dir)
	return again
}
