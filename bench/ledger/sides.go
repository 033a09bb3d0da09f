package main

import (
	"context"
	"os"
	"slices"
	"strconv"
)

// Sides, by their names in the tables.
const (
	syncL2     = "ledgersync L2"
	syncL4     = "ledgersync L4"
	plainL2    = "plain L2"
	memory     = "memory"
	signatures = "signatures"
)

var sides = []string{syncL2, memory, plainL2, syncL4, signatures}

// turns measures all sides in every round, until each ratio has so many rounds that count, or twice as many are over.
func (b *bench) turns(ctx context.Context, r *report) error {
	for round := 0; round < b.pairs || round < 2*b.pairs && r.fewest() < b.pairs; round++ {
		measured := map[string]summary{}
		for _, i := range order(len(sides), round) {
			side := sides[i]
			s, err := b.counted(ctx, side, func() (summary, string, error) { return b.side(ctx, side) })
			if err != nil {
				return err
			}
			say("round %d: %s: %.0f ledgers/s, %.0f us of CPU for each", round+1, side, s.Rate, s.cpu)
			measured[side] = s
		}
		for side, s := range measured { // of whole rounds, which can be paired
			r.rates[side] = append(r.rates[side], s.Rate)
			r.cpu[side] = append(r.cpu[side], s.cpu)
		}
	}
	return nil
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

// inMemory bounds the ledgers that are measured from memory: their answers take 190 kB each.
const inMemory = 400

func (b *bench) side(ctx context.Context, side string) (summary, string, error) {
	data, err := os.MkdirTemp(b.work, "data-")
	if err != nil {
		return summary{}, "", err
	}
	defer os.RemoveAll(data)
	span := func(ledgers int) []string {
		return []string{"--server", url(b.server), "--from", strconv.Itoa(first), "--to", strconv.Itoa(first + ledgers - 1)}
	}
	n, of := b.ledgers, func(part int) int { return max(b.ledgers/part, 100) }
	switch side {
	case syncL2:
		return b.job(ctx, n, append(b.sync(data, "L2"), span(n)...)...)
	case syncL4:
		n = of(4) // a second or two of each core
		return b.job(ctx, n, append(b.sync(data, "L4"), span(n)...)...)
	case plainL2:
		n = of(4)
		return b.job(ctx, n, append([]string{b.programs[plain], "sync", "--data", data, "--json"}, span(n)...)...)
	}
	work := "links"
	if side == signatures {
		work = "signatures"
	}
	n = min(n, inMemory)
	return b.job(ctx, 1, append([]string{b.programs[ceiling], "--work", work, "--signatures", b.signatures, "--for", b.length.String()}, span(n)...)...)
}

// sync is the command without what to fetch.
func (b *bench) sync(data, level string) []string {
	return []string{b.programs[ledgersync], "sync", "--data", data, "--debug", "127.0.0.1:0", "--level", level, "--json", "--assembly", b.assembly, "--set", "signatures=" + b.signatures}
}
