// Package tip finds the tip of the XRP Ledger and keeps up with it.
//
// An AnchorFinder finds a ledger from which those below can be proved: by the hash that most
// servers report for it, or by a quorum of validators. It is not for a hash that the user names,
// and proves nothing below the anchor. ByServers owns a goroutine for each server, which its
// context ends. ByQuorum owns those that listen to servers, and waits for them.
//
// A Follower subscribes to servers, and calls Fetch for all ledgers between the newest stored one
// and the tip, each time the tip moves.
//
//	f := tip.NewFollower(tip.Config{Servers: servers, Top: top, Fetch: fetch})
//	err := f.Run(ctx)
//
// No single server decides which ledger is the tip. Without a quorum it is the newest ledger that
// more than half of the servers that have not failed report; with one (trust level L3) it is the
// newest that a quorum of validators has validated, whichever servers forwarded their validations.
// Fetch always receives the whole stretch from the last ledger below which none is missing up to
// the tip, so ledgers that closed during a disconnection or a failed fetch are fetched later, and
// none is left out. Run owns a goroutine for each server and waits for them.
//
// The package is not for fetching, proving or storing ranges: Fetch does all that. Nor is it for a
// single server's connection (services/ledger/servers).
package tip

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"log/slog"
	"math/rand/v2"
	"sync"
	"time"

	"dyno/services/ledger/servers/response"
	"dyno/services/ledger/trust"
	"dyno/services/ledger/xrpl"
	"dyno/services/ledger/xrpl/history"
)

// Server is a server that offers subscriptions: *servers.Server.
type Server interface {
	Name() string
	Subscribe(ctx context.Context, streams ...string) iter.Seq2[response.Event, error]
}

// Quorum decides what validators agree on: *trust.Quorum. One goroutine at a time calls it.
type Quorum interface {
	Add(validation []byte) (anchor trust.Anchor, reached bool, err error)
}

// ErrStop ends Run. Fetch wraps it in errors that a retry cannot help, such as a failed disk.
var ErrStop = errors.New("following ends")

// Config says what to follow and how. The zero values are the documented defaults.
type Config struct {
	Servers []Server // 1 to MaxServers

	// Top returns the index of the ledger up to which no wanted ledger is missing, or 0. Ledgers
	// above it when Run begins are fetched. A process that was killed while it caught up may have
	// left a hole below the newest ledger, because a stretch is proved, and stored, from its top
	// down: Top is then the ledger below the hole.
	Top func() uint32

	// Fetch fetches, proves and stores the ledgers of a range that are not stored yet; the range's
	// highest ledger has this hash. When it returns nil, all of the range is durable. Fetch must
	// check that the range's lowest ledger continues what is stored below it. After an error it is
	// called again, for a range that begins at the same ledger and ends at the tip of that time; an
	// error that wraps ErrStop ends Run.
	Fetch func(ctx context.Context, missing history.Range, top xrpl.Hash) error

	Quorum Quorum // nil: more than half of the servers
	First  uint32 // first ledger when the store is empty; 0: the tip

	// Stall is the silence after which a server is dialled again. 0: 30 s, about eight ledgers.
	Stall time.Duration
	Log   *slog.Logger // nil: logs are discarded
}

// MaxServers bounds the number of subscribed servers.
const MaxServers = 32

// Waits between attempts; they double.
const (
	minBackoff = 250 * time.Millisecond
	maxBackoff = 30 * time.Second
)

// Follower keeps a store at the tip. NewFollower makes it.
type Follower struct {
	config Config
	wake   chan struct{} // capacity 1: the tip may have moved

	mu       sync.Mutex
	watched  []*watched
	anchored response.Tip // the newest ledger that the quorum has agreed on
	settled  uint32       // no ledger up to here is missing; 0: the store is empty, and there was no tip yet
	fetches  int
	failures int
	trouble  error // of the last Fetch; nil: it succeeded
}

// NewFollower makes a follower. It does nothing before Run.
func NewFollower(c Config) (*Follower, error) {
	if n := len(c.Servers); n == 0 || n > MaxServers {
		return nil, fmt.Errorf("following takes 1 to %d servers, not %d", MaxServers, n)
	}
	if c.Stall <= 0 {
		c.Stall = 30 * time.Second
	}
	if c.Log == nil {
		c.Log = slog.New(slog.DiscardHandler)
	}
	f := &Follower{config: c, wake: make(chan struct{}, 1)}
	for _, s := range c.Servers {
		f.watched = append(f.watched, &watched{server: s})
	}
	return f, nil
}

// Run follows until ctx ends (nil), Fetch returns ErrStop, validators contradict each other
// (trust.ErrConflict), or their list expires (trust.ErrListExpired).
func (f *Follower) Run(ctx context.Context) error {
	f.begin()
	inner, fail := context.WithCancelCause(ctx)
	var watching sync.WaitGroup
	for _, w := range f.watched {
		watching.Go(func() { f.watch(inner, w, fail) })
	}
	err := f.keepUp(inner)
	fail(err)
	watching.Wait()
	if ctx.Err() != nil {
		return nil
	}
	return context.Cause(inner)
}

// keepUp calls Fetch for the missing ledgers whenever the tip moves. It returns when ctx ends or
// Fetch returns ErrStop.
func (f *Follower) keepUp(ctx context.Context) error {
	wait := minBackoff
	for {
		tip, missing := f.missing()
		if missing.Len() == 0 {
			select {
			case <-f.wake:
				continue
			case <-ctx.Done():
				return ctx.Err()
			}
		}
		err := f.config.Fetch(ctx, missing, tip.Hash)
		if top := f.config.Top(); err == nil && top < missing.To {
			err = fmt.Errorf("%s was fetched, but the newest stored ledger is %d", missing, top)
		}
		f.fetched(missing, err)
		switch {
		case err == nil:
			wait = minBackoff
			continue
		case ctx.Err() != nil:
			return ctx.Err()
		case errors.Is(err, ErrStop):
			return err
		}
		f.config.Log.Warn("fetching the newest ledgers failed", "ledgers", missing.String(), "error", err, "again_in", wait.String())
		if wait = pause(ctx, wait); ctx.Err() != nil {
			return ctx.Err()
		}
	}
}

// pause waits about as long as wait, or until ctx ends, and returns the next wait.
func pause(ctx context.Context, wait time.Duration) time.Duration {
	// So that clients that lost one server do not all return at the same time.
	jittered := wait - rand.N(wait/4)
	timer := time.NewTimer(jittered)
	defer timer.Stop()
	select {
	case <-timer.C:
	case <-ctx.Done():
	}
	return min(2*wait, maxBackoff)
}

func (f *Follower) begin() {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.settled = f.config.Top(); f.settled == 0 && f.config.First > 0 {
		f.settled = f.config.First - 1
	}
}

// missing returns the tip, and the range to fetch to get there. It does not ask what is stored: a
// Fetch that failed may have stored the upper part of its range.
func (f *Follower) missing() (response.Tip, history.Range) {
	tip := f.Tip()
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.settled == 0 && tip.Index > 0 {
		f.settled = tip.Index - 1
	}
	if tip.Index <= f.settled {
		return tip, history.Range{}
	}
	return tip, history.Range{From: f.settled + 1, To: tip.Index}
}

func (f *Follower) fetched(r history.Range, err error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.fetches++
	if f.trouble = err; err != nil {
		f.failures++
		return
	}
	f.settled = r.To
}

// Tip is the ledger that counts as the newest now; its index is 0 when there is none.
func (f *Follower) Tip() response.Tip {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.config.Quorum != nil {
		return f.anchored
	}
	return agreed(f.watched)
}

func (f *Follower) poke() {
	select {
	case f.wake <- struct{}{}:
	default:
	}
}
