// Package backfill downloads a range of history, proves it, and hands it on to be stored: the pipeline behind
// ledgersync sync and follow.
//
//	planner -> fetchers -> queue -> verifiers -> linker -> Sink
//
// A range is worked through from its top down, because that is the way proof goes: a header holds its parent's
// hash, so from an anchor (Trusted) on, the linker knows what the next lower ledger must hash to before it looks at an answer. A
// wrong answer is therefore noticed when it comes, put to the account of the server that gave it, and asked of another; the Sink gets
// every ledger once, in descending order, and nothing that was not proved as far as Config.Level asks, but for what has its
// hash and does not verify at L4: Config.Mark says which that is.
//
// Fetching and hashing go on out of order within a window below the last ledger that was linked, which bounds the
// memory; so does Config.WindowBytes, beyond which only the ledger that is to be linked next is asked for. What goes beyond
// are the answers that Config.Fetches requests bring that are under way. Which ledgers are asked for next, and in what portions, is services/ledger/shard's to say; which server
// is asked, services/ledger/pace's.
//
// It is not for storing (services/ledger/store), nor for keeping up with the tip (services/ledger/follow calls it
// for each new stretch). Run owns the goroutines it starts and waits for them.
package backfill

import (
	"context"
	"runtime"
	"time"

	"dyno/parts/xrpl"
	"dyno/services/ledger/pace"
	"dyno/services/ledger/rippled"
	"dyno/services/ledger/shard"
	"dyno/services/ledger/trust"
)

// Config is what to download and how. Its zero values are the documented defaults.
type Config struct {
	Servers *pace.Pool
	Sink    Sink
	Level   trust.Level

	// Trusted is a hash that the range's top ledger, or one above it, is known to have. Without an index nothing is linked
	// to anything above the range (L0, L1).
	Trusted Trusted

	// Below is what is stored right below the range, with the hash that it is stored with: the range's lowest ledger has to
	// name it as its parent (L2 and above). Without an index there is nothing.
	Below Trusted

	Fetches     int           // requests under way at once; 0: 1
	Verifiers   int           // 0: one for each processor
	VerifyBatch int           // answers that a verifier takes at a time; 0: 64
	Queue       string        // between fetchers and verifiers: a name of parts/queue; "": buffered
	Window      int           // ledgers under way below the last one linked; 0: 1,024 (some 100 MB of modern ones)
	WindowBytes int64         // of their answers that are held until the Sink has released them, and by which no more are asked for; 0: 512 MiB
	Timeout     time.Duration // of a shard; 0: 8 s
	Attempts    int           // wrong answers or refusals, of all servers, before a ledger is given up; 0: 12
	Patience    time.Duration // for which nobody answers rightly, before all is given up; 0: 30 s

	Tree       string                // how transaction trees are hashed: sorted, nodes; "": sorted
	Signatures xrpl.SignatureChecker // for L4
	Sample     int                   // L4 checks every Sample-th ledger's signatures; 0: each

	Shards shard.Config

	// Inbox keeps answers from when they come, so that who is killed need not ask for them again. Nil: nothing does.
	Inbox Inbox

	// Wrong is told of every wrong answer, by several goroutines; what it keeps of the answer it copies. Nil: nobody is.
	Wrong func(server string, a *rippled.Answer, reason error)

	// Mark receives each ledger that is linked and does not verify at L4, with the reason, before the Sink gets it. Its error
	// ends the run. Nil: none does.
	Mark func(index uint32, why error) error

	Watch *Watch // what is counted; nil: nobody looks

	headers bool // without transactions: what lies between an anchor and the range
}

// Trusted is a ledger whose hash is known from elsewhere.
type Trusted struct {
	Index uint32
	Hash  xrpl.Hash
}

// Sink takes proved ledgers, in descending order, one call at a time. What it was given belongs to it until it
// calls release, which it does once, from any goroutine.
type Sink interface {
	Put(ctx context.Context, l *xrpl.Ledger, release func()) error
}

// Inbox keeps answers that wait for their proof. Its methods are called from many goroutines.
type Inbox interface {
	// Keep writes an answer down; it may put its transactions in order. An id of 0: it was not kept.
	Keep(server string, l *xrpl.Ledger) (id uint64)
	// Take reads an answer that was kept by a process before this one, each once.
	Take(index uint32, into *xrpl.Ledger) (server string, id uint64, ok bool)
	// Accept says that an answer is what the Sink gets next for its index, Drop that it was wrong.
	Accept(id uint64)
	Drop(id uint64)
}

func (c Config) withDefaults() Config {
	c.Fetches = max(c.Fetches, 1)
	c.Verifiers = c.Provers()
	if c.VerifyBatch <= 0 {
		c.VerifyBatch = 64
	}
	if c.Queue == "" {
		c.Queue = "buffered"
	}
	if c.Window <= 0 {
		c.Window = 1024
	}
	if c.WindowBytes <= 0 {
		c.WindowBytes = 512 << 20
	}
	if c.Timeout <= 0 {
		c.Timeout = 8 * time.Second
	}
	if c.Attempts <= 0 {
		c.Attempts = 12
	}
	if c.Patience <= 0 {
		c.Patience = 30 * time.Second
	}
	if c.Watch == nil {
		c.Watch = NewWatch()
	}
	return c
}

// Provers is the number of goroutines that prove answers.
func (c Config) Provers() int {
	if c.Verifiers > 0 {
		return c.Verifiers
	}
	return runtime.GOMAXPROCS(0)
}
