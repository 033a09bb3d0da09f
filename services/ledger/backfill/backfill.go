// Package backfill downloads a range of ledgers from several servers, proves each of them, and
// passes them to a Sink that stores them. It is the pipeline behind ledgersync sync and follow.
//
//	planner -> fetchers -> queue -> verifiers -> linker -> Sink
//
// A range is processed from its top down, because proofs work in that direction: a header contains
// its parent's hash, so from a trusted ledger (Config.Trusted) downwards the linker knows the hash
// of the next lower ledger before an answer arrives. A wrong answer is therefore detected on
// arrival, is recorded against the server that sent it, and the ledger is requested from another.
// The Sink receives every ledger exactly once, in descending order, and only ledgers that are
// proved up to Config.Level. One exception: a ledger that has the right hash but fails verification
// at L4 is passed on, and reported to Config.Mark.
//
// Within a window below the last linked ledger, fetching and hashing run out of order. The window
// bounds the memory; so does Config.WindowBytes, above which only the next ledger to be linked is
// requested. Answers already in flight (at most Config.Fetches) may exceed it.
// services/ledger/planner decides which ledgers are requested next and in what portions;
// services/ledger/serverpool chooses the server.
//
// Package backfill is not for storing (services/ledger/store), nor for following the tip
// (services/ledger/follow has it called for each new stretch). Run owns the goroutines it starts
// and waits for them.
package backfill

import (
	"cmp"
	"context"
	"runtime"
	"time"

	"dyno/services/ledger/planner"
	"dyno/services/ledger/rippled/response"
	"dyno/services/ledger/serverpool"
	"dyno/services/ledger/signing"
	"dyno/services/ledger/trust"
	"dyno/services/ledger/xrpl"
)

// Config says what to download and how. Its zero values are the documented defaults.
type Config struct {
	Servers *serverpool.Pool
	Sink    Sink
	Level   trust.Level

	// Trusted is a ledger at or above the range's top whose hash is known. With index 0 the range's
	// top is not checked against anything above it (L0, L1).
	Trusted Trusted

	// Below is the ledger stored directly below the range, with its stored hash: the range's lowest
	// ledger must name it as its parent (L2 and above). Index 0 means none.
	Below Trusted

	Fetches   int // concurrent requests; 0: 1
	Verifiers int // goroutines that verify; 0: one per processor
	// Ledgers in progress below the last linked one; 0: 1,024 (about 100 MB of modern ones).
	Window int
	// WindowBytes is the memory of answers that the Sink has not released yet, in bytes, above
	// which no more ledgers are requested. 0: 512 MiB.
	WindowBytes int64
	Timeout     time.Duration // time limit of a shard; 0: 8 s
	// Attempts is the number of wrong answers or refusals, from all servers together, after which a
	// ledger is reported missing. 0: 12.
	Attempts int
	// StallTimeout ends the run when no server has sent a right answer for this long. 0: 30 s.
	StallTimeout time.Duration

	Signatures signing.Checker // for L4
	Sample     int             // L4 checks the signatures of every Sample-th ledger; 0: of each

	Shards planner.Config

	// Inbox keeps answers from their arrival on, so that a process that is killed does not request
	// them again. Nil: answers are not kept.
	Inbox Inbox

	// Wrong is called with every wrong answer, by several goroutines; it must copy what it keeps of
	// the answer. Nil: not called.
	Wrong func(server string, a *response.Answer, reason error)

	// Mark receives each ledger that is linked and fails verification at L4, with the reason,
	// before the Sink gets it. Its error ends the run. Nil: not called.
	Mark func(index uint32, why error) error

	Watch *Watch // counters; nil: counts are discarded

	headers bool // requests headers only: the ledgers between a trusted one and the range
}

// Trusted is a ledger whose hash is known from elsewhere.
type Trusted struct {
	Index uint32
	Hash  xrpl.Hash
}

// Sink takes proved ledgers, in descending order, one call at a time. A ledger's memory belongs to
// the Sink until the Sink calls release, once, from any goroutine.
type Sink interface {
	Put(ctx context.Context, l *xrpl.Ledger, release func()) error
}

// Inbox keeps answers that are not proved yet. Its methods are called from many goroutines.
type Inbox interface {
	// Keep writes an answer to disk; it may sort the answer's transactions. ID 0 means that the
	// answer was not kept.
	Keep(server string, l *xrpl.Ledger) (id uint64)
	// Take reads an answer that an earlier process kept. It returns each answer once.
	Take(index uint32, into *xrpl.Ledger) (server string, id uint64, ok bool)
	// Accept says that the Sink gets this answer next for its index; Drop that it was wrong.
	Accept(id uint64)
	Drop(id uint64)
}

func (c Config) withDefaults() Config {
	c.Fetches = max(c.Fetches, 1)
	c.Verifiers = c.Provers()
	c.Window, c.WindowBytes = cmp.Or(c.Window, 1024), cmp.Or(c.WindowBytes, 512<<20)
	c.Timeout, c.StallTimeout = cmp.Or(c.Timeout, 8*time.Second), cmp.Or(c.StallTimeout, 30*time.Second)
	c.Attempts = cmp.Or(c.Attempts, 12)
	if c.Watch == nil {
		c.Watch = NewWatch()
	}
	return c
}

// Provers is the number of goroutines that verify answers.
func (c Config) Provers() int {
	if c.Verifiers > 0 {
		return c.Verifiers
	}
	return runtime.GOMAXPROCS(0)
}
