package soak

import (
	"fmt"
	"path/filepath"
	"testing"
	"time"

	"dyno/services/ledger/sim"
	"dyno/services/ledger/sim/chain"
	"dyno/services/ledger/sim/fault"
	"dyno/services/ledger/sim/limits"
)

type budget struct {
	limits   string
	servers  int
	requests float64 // per second and server
	bytes    float64 // per second and server; 0: no limit

	most   float64       // requests per second that a server may answer for a while
	settle time.Duration // until a client knows the budget
}

// Clio's bytes are some five ledgers a second: a first look beyond what was found comes after 64 of
// them, 12 s, and is refused some 10 s later; then they become rare. Rippled's is a balance that
// decays in 32 s: a first look beyond what was found is over after a minute and a half.
var budgets = []budget{
	{limits: limits.Clio, servers: 2, requests: 20, bytes: 1_000_000, most: 20, settle: time.Minute},
	{limits: limits.Rippled, servers: 1, requests: 250, most: 1250, settle: 2 * time.Minute},
}

// usage is what a client made of a budget: the share of the part that binds, and the share of its
// requests that were refused.
type usage struct{ share, refused float64 }

// use lets a program sync from servers with limits, and returns what it uses once it knows them.
func (b budget) use(t testing.TB, p Program, length time.Duration, seed uint64) usage {
	t.Helper()
	const first = 70_000
	ledgers := int(b.most*float64(b.servers)*(b.settle+length).Seconds()) + 100 // more than can be had
	c := makeChain(t, chain.Spec{First: first, Ledgers: ledgers, Distinct: 64, Transactions: 90, Seed: seed})
	args := []string{"--from", fmt.Sprint(first), "--to", fmt.Sprint(first + ledgers - 1)}
	var servers []*sim.Sim
	for range b.servers {
		s := server(t, sim.Config{Chain: c, Limits: b.limits})
		servers, args = append(servers, s), append(args, "--server", s.URL())
	}
	life := p.sync(t, filepath.Join(t.TempDir(), "history"), args...)
	wait := func(d time.Duration) {
		select {
		case <-time.After(d):
		case <-life.Ended():
			t.Fatalf("%s: it ended: %s", b.limits, life.Stderr.String())
		}
	}
	wait(b.settle)
	before, began := sum(servers), time.Now()
	wait(length)
	return b.judge(before, sum(servers), time.Since(began))
}

func (b budget) judge(before, after fault.Injected, took time.Duration) (u usage) {
	answers, refused := float64(after.Answers-before.Answers), float64(after.Refused-before.Refused)
	seconds := took.Seconds() * float64(b.servers)
	u.share = answers / (b.requests * seconds)
	if b.bytes > 0 {
		u.share = max(u.share, float64(after.Bytes-before.Bytes)/(b.bytes*seconds))
	}
	if answers+refused > 0 {
		u.refused = refused / (answers + refused)
	}
	return u
}

func sum(servers []*sim.Sim) (all fault.Injected) {
	for _, s := range servers {
		i := s.Injected()
		all.Answers, all.Bytes, all.Refused = all.Answers+i.Answers, all.Bytes+i.Bytes, all.Refused+i.Refused
	}
	return all
}
