package ledger

import (
	"context"
	"time"

	"dyno/parts/daemon"
	"dyno/services/ledger/store"
)

// indexAccounts adds stored ledgers to the index by account, if that is on, and logs its progress.
func indexAccounts(ctx context.Context, env *daemon.Env, s *store.Store) error {
	err := env.Expose(prefix, nil, daemon.Metric{Name: "account_index_lacking_ledgers", Help: "Ledgers stored that the index by account lacks, as it is being made.",
		Read: func() float64 { return float64(s.Lacking()) }})
	if err != nil {
		return err
	}
	all := s.Lacking()
	if all == 0 {
		return nil
	}
	env.Log.Info("making the index by account; until it is done account_tx answers for what it has", "ledgers", all)
	begin, tick := time.Now(), time.NewTicker(10*time.Second)
	defer tick.Stop()
	done := make(chan error, 1)
	go func() { done <- s.IndexAccounts(ctx) }()
	for {
		select {
		case err := <-done:
			if err == nil {
				env.Log.Info("the index by account is complete", "ledgers", all, "took", time.Since(begin).Round(time.Millisecond).String())
			}
			return err
		case <-tick.C:
			env.Log.Info("making the index by account", "left", s.Lacking(), "ledgers", all)
		}
	}
}
