package main

import (
	"cmp"
	"context"
	"slices"
	"time"

	"dyno/lab/capacity"
	"dyno/lab/record"
)

// clientCounts are the numbers of clients that are tried to find what pgbench does best with.
func (o options) clientCounts() []int {
	if o.quick {
		return []int{4, 16}
	}
	return []int{2, 4, 8, 16, 32}
}

// poolSizes are the same for the peer's connections to the database.
func (o options) poolSizes() []int {
	if o.quick {
		return []int{4, 16}
	}
	return []int{4, 8, 16, 32}
}

// order is that of n sides in a round: forward and backward by turns, and each pair of rounds begins further on, so
// that none is always measured after the same one.
func order(n, round int) []int {
	out := make([]int, n)
	for i := range out {
		out[i] = (i + round/2) % n
	}
	if round%2 == 1 {
		slices.Reverse(out)
	}
	return out
}

// measure fills a report.
func (b *bench) measure(ctx context.Context, r *report) error {
	if err := b.sameAnswers(ctx); err != nil {
		return err
	}
	if err := b.prepare(ctx); err != nil {
		return err
	}
	r.prepared(b)
	expected := map[string]float64{} // per second; 0: not known yet
	for round := 0; round < b.pairs && !b.over(forRounds); round++ {
		for _, i := range order(len(r.sides), round) {
			side := r.sides[i]
			say("round %d of %d: %s", round+1, b.pairs, side)
			d, err := b.turn(ctx, side, expected[side], uint64(round+1))
			if err != nil {
				return err
			}
			r.add(side, d)
			if d.capacity > 0 {
				expected[side] = d.capacity
			}
		}
	}
	return b.equalRate(ctx, r)
}

// datum is what a side showed in its turn, per second; 0: it could not be measured.
type datum struct {
	peak     float64 // in the closed model
	capacity float64 // pgbench has none
}

// forRounds is the share of the budget for capacities; the rest is for latencies at one rate.
const forRounds = 0.8

// over reports whether a share of the budget is used up.
func (b *bench) over(share float64) bool {
	return time.Since(b.began) > time.Duration(share*float64(b.budget))
}

func (b *bench) turn(ctx context.Context, side string, expected float64, seed uint64) (d datum, err error) {
	if b.over(1) {
		return d, nil
	}
	if side == bare {
		d.peak, err = b.tps(ctx, b.pgbench.clients)
		return d, err
	}
	if d.peak, err = b.peak(ctx, side); err != nil || d.peak == 0 {
		return d, err
	}
	s := capacity.Search{Bracket: capacity.Around(expected)}
	if expected == 0 {
		s = b.fromNothing(d.peak)
	}
	d.capacity, err = b.capacity(ctx, side, s, seed)
	return d, err
}

func (b *bench) tps(ctx context.Context, clients int) (float64, error) {
	r, err := b.counted(ctx, bare, func() (*record.Run, error) { return b.transactions(ctx, clients) })
	if err != nil || r == nil {
		return 0, err
	}
	return r.Totals.AchievedPerS, nil
}

// fromNothing is a search that begins where the objective should be met, and one doubling leads to the peak. It is a side's
// first; later ones begin around what it found.
func (b *bench) fromNothing(peak float64) capacity.Search {
	return capacity.Search{Start: peak / 2, Tolerance: 0.20}
}

// prepare finds what pgbench and the peer do best with.
func (b *bench) prepare(ctx context.Context) (err error) {
	if b.pgbench != nil {
		say("looking for pgbench's best number of clients")
		b.pgbench.clients, err = best(b.clientCounts(), func(n int) (float64, error) { return b.tps(ctx, n) })
		if err != nil {
			return err
		}
	}
	say("looking for the best number of database connections of %s", peer)
	b.pool, err = best(b.poolSizes(), func(n int) (float64, error) {
		b.pool = n
		return b.peak(ctx, peer)
	})
	return err
}

// best returns the number with the highest rate.
func best(numbers []int, rate func(n int) (float64, error)) (chosen int, err error) {
	highest := -1.0
	for _, n := range numbers {
		r, err := rate(n)
		if err != nil {
			return 0, err
		}
		say("  %d: %.0f/s", n, r)
		if r > highest {
			chosen, highest = n, r
		}
	}
	return chosen, nil
}

// share of the peer's capacity at which latencies are compared: a load at which both are well.
const share = 0.7

// equalRate compares ordersd and the peer at one rate.
func (b *bench) equalRate(ctx context.Context, r *report) error {
	r.rate = share * cmp.Or(median(r.capacities(peer)), median(r.peaks(peer))/2) // a capacity may be more than neighbours let be found
	if r.rate == 0 {
		return nil
	}
	for round := 0; round < b.pairs && !b.over(1); round++ {
		sides := []string{peer, ordersd}
		if round%2 == 1 { // A B B A
			slices.Reverse(sides)
		}
		for _, side := range sides {
			say("round %d of %d at %.0f/s: %s", round+1, b.pairs, r.rate, side)
			ms, err := b.p99(ctx, side, r.rate, uint64(b.pairs+round+1))
			if err != nil {
				return err
			}
			r.p99[side] = append(r.p99[side], ms)
		}
	}
	return nil
}
