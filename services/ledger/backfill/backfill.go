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
// The planner decides which ledgers are requested next and in what portions;
// services/ledger/servers chooses the server.
//
// Package backfill is not for storing (services/ledger/store), nor for following the tip
// (services/ledger/tip has it called for each new stretch). Run owns the goroutines it starts
// and waits for them.
package backfill

import (
	"context"
	"runtime"
	"time"

	"dyno/services/ledger/servers"
	"dyno/services/ledger/servers/response"
	"dyno/services/ledger/signing"
	"dyno/services/ledger/trust"
	"dyno/services/ledger/xrpl"
)

// Config says what to download and how. The tagged fields are settings: assembly.Defaults has their
// defaults.
type Config struct {
	Servers *servers.Pool
	Sink    Sink
	Level   trust.Level

	// Trusted is a ledger at or above the range's top whose hash is known. With index 0 the range's
	// top is not checked against anything above it (L0, L1).
	Trusted Trusted

	// Below is the ledger stored directly below the range, with its stored hash: the range's lowest
	// ledger must name it as its parent (L2 and above). Index 0 means none.
	Below Trusted

	Fetches   int `set:"fetches" default:"1" min:"1" max:"4096" tune:"true" doc:"concurrent requests, to all servers together"`
	Verifiers int `set:"verifiers" default:"0" min:"0" max:"1024" tune:"true" doc:"goroutines that prove answers; 0: one for each processor"`
	// Window is the ledgers in progress below the last linked one: about 100 MB of modern ones.
	Window int `set:"window" default:"1024" min:"1" max:"1048576" tune:"true" doc:"ledgers that are fetched and not yet stored"`
	// WindowBytes is the memory of answers that the Sink has not released yet, in bytes, above
	// which no more ledgers are requested.
	WindowBytes int64         `set:"window_bytes" default:"512MiB" min:"1MiB" max:"1TiB" tune:"true" doc:"bytes of answers that are not yet stored"`
	Timeout     time.Duration `set:"timeout" default:"8s" min:"10ms" max:"10m" doc:"time limit of a shard; another server is asked for the rest of it"`
	// Attempts is the number of wrong answers or refusals, from all servers together, after which a
	// ledger is reported missing.
	Attempts int `set:"attempts" default:"12" min:"1" max:"1000" doc:"attempts at a ledger, over all servers, before it is given up"`
	// StallTimeout ends the run when no server has sent a right answer for this long.
	StallTimeout time.Duration `set:"patience" default:"30s" min:"1s" max:"24h" doc:"time without a right answer from any server before a sync ends"`

	Signatures signing.Checker // for L4
	Sample     int             `set:"signature_sample" default:"1" min:"1" max:"1048576" doc:"L4 checks the signatures of one ledger in this number; 1: of each"`

	Shards ShardConfig

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

// ready is a Config whose verifiers are counted, and that has counters.
func (c Config) ready() Config {
	c.Verifiers = c.Provers()
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
