package store

import (
	"dyno/services/orders/batcher"
)

// Stats are counts since the store was opened, over all its databases.
type Stats struct {
	Pools      map[string]Pool // reads, lists, writes, batches; those of a replica are "replica"
	Statements uint64          // sent
	Prepares   uint64          // statements that a connection did not know yet: the statement cache's misses
	Deadlines  uint64          // statements sent with a deadline
	Undated    uint64          // statements sent without
	Batch      batcher.Stats
}

// Stats returns them.
func (s *Store) Stats() Stats {
	all := Stats{Pools: map[string]Pool{}}
	for _, d := range s.shards {
		d.addTo(&all)
		for class, p := range d.driver.Pools() {
			all.Pools[class] = all.Pools[class].plus(p)
		}
	}
	if s.replica != nil {
		s.replica.addTo(&all)
		for _, p := range s.replica.driver.Pools() {
			all.Pools["replica"] = all.Pools["replica"].plus(p)
		}
	}
	return all
}

func (d *backend) addTo(all *Stats) {
	all.Statements += d.tally.dated.Load() + d.tally.undated.Load()
	all.Prepares += d.tally.prepares.Load()
	all.Deadlines += d.tally.dated.Load()
	all.Undated += d.tally.undated.Load()
	b := d.lookup.stats()
	all.Batch.Calls += b.Calls
	all.Batch.Refused += b.Refused
	all.Batch.Fetches += b.Fetches
	all.Batch.Keys += b.Keys
	all.Batch.Waiting += b.Waiting
	all.Batch.Retries += b.Retries
}
