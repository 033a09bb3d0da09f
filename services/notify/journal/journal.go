// Package journal remembers what the dispatcher must know after a crash beyond the notices
// themselves: the subscriptions, which notices each has got, which attempts have failed, what is
// dead. It is a log of events (parts/wal) and a fold over them: subscription.Recovered is what the
// events of one subscription add up to. Checkpoints keep the log short.
//
//	j, subscriptions, err := journal.Open(log)
//	err = j.Put(definition, next)            // durable when it returns
//	err = j.Delivered(definition.ID, seq)    // within a second
//	err = j.Checkpoint(positions)            // now and then: see Size
//
// It decides nothing: that is services/notify/dispatch. It keeps no notices except those of dead
// letters, and of these only an index in memory. It starts no goroutines of its own.
//
// The events of one subscription must be appended in the order in which they happened: a caller
// holds the subscription's lock from the decision until the event is appended. The journal takes no
// lock of the caller's, and what it gives the log to call back takes none at all.
package journal

import "errors"

// Errors that callers branch on.
var (
	// ErrUnknown says that there is no such subscription.
	ErrUnknown = errors.New("no such subscription")
	// ErrReplaying says that a dead letter is being replayed: it is pending again, until it is
	// delivered or dead.
	ErrReplaying = errors.New("the dead letter is being replayed; wait for what becomes of it")
	// ErrUnread says that a checkpoint is complete, but for a dead letter whose record cannot be read.
	ErrUnread = errors.New("the checkpoint is written, but the log cannot get shorter")
)

// Bounds on what one event may hold.
const (
	maxID         = 128      // bytes of a subscription's id
	maxDefinition = 64 << 10 // bytes of a definition as JSON: 100 types of 256 bytes, a URL, a few secrets
	maxFilters    = 4 << 20  // bytes of a position's definition and filters as JSON
	maxRecord     = 1 << 20  // bytes of a dead letter's notice, of which a client may send 256 KiB
	maxReason     = 1 << 10  // bytes of a dead letter's reason; what is longer is cut
	maxSeqs       = 1024     // numbers in one event, and waiting notices in one; more make several events
)

// Bounds on the dead letters of one subscription, unless Limit says otherwise.
const (
	DefaultDeadLetters = 10_000
	DefaultDeadBytes   = 64 << 20 // of their notices' records
)
