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
	Lost     int // ledgers fetched again although all above them had come, too: what a kill cost
	MostLost int // by one kill
	Ahead    int // ledgers fetched again that had come ahead of their turn, so that nothing linked to them
}

func (k Killed) String() string {
	return fmt.Sprintf("%d kills, %d ledgers: %d proved ones fetched again, %d at most by one kill; %d fetched again that had come ahead of their turn",
		k.Kills, k.Ledgers, k.Lost, k.MostLost, k.Ahead)
}

// Kill lets a program sync a range and kills it at random moments, until it has died so often. Then it may end. Everything has
// to be stored, and a kill may cost no more than most ledgers that had been proved.
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
	k := &killing{left: map[uint32]bool{}, frontier: last}
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
			t.Fatalf("seed %d: kill %d cost %d proved ledgers, of at most %d", seed, k.Kills, k.MostLost, most)
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
	left     map[uint32]bool // answered in lives before
	frontier uint32          // the highest ledger that had not been answered, or not all above it
}

// died takes the account of a life.
func (k *killing) died(x ledgertest.Traffic) {
	lost := 0
	for index := range x.Asked {
		switch {
		case index > k.frontier:
			lost++
		case k.left[index]:
			k.Ahead++
		}
	}
	k.Lost += lost
	k.MostLost = max(k.MostLost, lost)
	k.Kills++
	for index := range x.Answered {
		k.left[index] = true
	}
	for k.left[k.frontier] {
		k.frontier--
	}
}
