package dispatch

import (
	"context"
	"log/slog"
	"slices"
	"time"
)

// ReaderOptions of a Reader.
type ReaderOptions struct {
	Store     *Store
	Table     *Table
	Deliverer *Deliverer
	KeepAge   time.Duration // for which a notice is owed to a subscription
	Log       *slog.Logger
}

// Reader reads from the log what did not fit into memory.
type Reader struct{ options ReaderOptions }

// NewReader returns a reader.
func NewReader(o ReaderOptions) *Reader { return &Reader{o} }

// Run reads from the log what there is room for, until ctx ends.
func (r *Reader) Run(ctx context.Context) {
	again := time.NewTicker(100 * time.Millisecond) // memory that other subscriptions released signals no room
	defer again.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-r.options.Deliverer.room:
		case <-again.C:
		}
		for ctx.Err() == nil && r.scanOnce(ctx) {
		}
		r.options.Deliverer.signalIdle()
	}
}

// Reading reports whether a subscription is about to get more from the log.
func (r *Reader) Reading() bool {
	return slices.ContainsFunc(r.options.Deliverer.lagging.all(), (*subscriber).aboutToRead)
}
