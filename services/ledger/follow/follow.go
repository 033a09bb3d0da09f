// Package follow keeps a store at the tip of the ledger: it subscribes to servers, and has everything between the newest
// stored ledger and the tip fetched, again and again.
//
//	f := follow.New(follow.Config{Servers: servers, Top: top, Fetch: fetch})
//	err := f.Run(ctx)
//
// Which ledger the tip is, no single server decides. Without a quorum it is the newest that more than half of the
// servers say that have not failed; with one (trust level L3) it is the newest that a quorum of validators has
// validated, whoever passed their validations on. What is fetched is always the whole stretch from the last ledger below
// which nothing is missing up to the tip, so what happened while nobody was connected, or while fetching failed, is made
// up for, and no ledger is left out.
//
// It is not for fetching, proving or storing: Fetch does all that (services/ledger/backfill). Nor is it for one server's
// connection, which is rippled's.
//
// Run owns a goroutine for each server and waits for them.
package follow

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"log/slog"
	"math/rand/v2"
	"sync"
	"time"

	"dyno/parts/xrpl"
	"dyno/services/ledger/history"
	"dyno/services/ledger/rippled"
	"dyno/services/ledger/trust"
)

// Server is a server that can be subscribed to: *rippled.Server.
type Server interface {
	Name() string
	Subscribe(ctx context.Context, streams ...string) iter.Seq2[rippled.Event, error]
}

// Quorum says which ledgers validators agree on: *trust.Quorum. It is called by one goroutine at a time.
type Quorum interface {
	Add(validation []byte) (anchor trust.Anchor, reached bool, err error)
}

// ErrStop is for Fetch to wrap when it makes no sense to try again: the disk is gone.
var ErrStop = errors.New("following ends")

// Config is what to follow and how. The zero values are the documented defaults.
type Config struct {
	Servers []Server // 1 to MaxServers

	// Top is the index of the ledger up to which nothing is missing that is to be stored, or 0. What is above it when Run
	// begins is fetched. A process that was killed while it caught up may have left a hole below the newest ledger,
	// since a stretch is proved, and stored, from its top down: then Top is what is below the hole.
	Top func() uint32

	// Fetch fetches, proves and stores what of a range is not stored yet; the range's highest ledger has this hash.
	// When it returns nil, all of the range is durable. That its lowest follows on what is stored below it is Fetch's
	// to check. After an error it is called again, for a range that begins at the same ledger and ends at the tip of
	// that time; one that wraps ErrStop ends Run.
	Fetch func(ctx context.Context, missing history.Range, top xrpl.Hash) error

	Quorum Quorum // nil: more than half of the servers
	First  uint32 // where to begin when nothing is stored; 0: at the tip

	Stall time.Duration // a server that tells of no ledger for so long is dialled again; 0: 30 s, some eight ledgers
	Log   *slog.Logger  // nil: nowhere
}

// MaxServers bounds the servers that are subscribed to at once.
const MaxServers = 32

// How long to wait before trying again, doubling.
const (
	minBackoff = 250 * time.Millisecond
	maxBackoff = 30 * time.Second
)

// Follower follows. New makes it.
type Follower struct {
	config Config
	wake   chan struct{} // has one when the tip may have moved

	mu       sync.Mutex
	watched  []*watched
	anchored Tip    // the newest that the quorum has agreed on
	settled  uint32 // up to here nothing is missing; 0: nothing is stored, and there was no tip yet
	fetches  int
	failures int
	trouble  error // of the last Fetch; nil: it went well
}

// Tip is a ledger at the tip.
type Tip struct {
	Index uint32
	Hash  xrpl.Hash
}

// New makes a follower that does nothing before Run.
func New(c Config) (*Follower, error) {
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

// Run follows until ctx ends (nil), Fetch says ErrStop, validators contradict
// one another (trust.ErrConflict), or their list expires (trust.ErrExpired).
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

// keepUp has fetched what is missing whenever the tip moves. It returns when ctx is over or Fetch says ErrStop.
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
			err = fmt.Errorf("%s was fetched, but the newest ledger that is stored is %d", missing, top)
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

// pause waits about so long, or until ctx is over, and says how long to wait the next time.
func pause(ctx context.Context, wait time.Duration) time.Duration {
	jittered := wait - rand.N(wait/4) // so that many who lost one server do not come back at once
	timer := time.NewTimer(jittered)
	defer timer.Stop()
	select {
	case <-timer.C:
	case <-ctx.Done():
	}
	return min(2*wait, maxBackoff)
}

// begin finds out where to begin.
func (f *Follower) begin() {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.settled = f.config.Top(); f.settled == 0 && f.config.First > 0 {
		f.settled = f.config.First - 1
	}
}

// missing is the tip, and what is to be fetched to get there. It does not ask what is stored: a Fetch that failed may
// have stored the upper part of its range.
func (f *Follower) missing() (Tip, history.Range) {
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
func (f *Follower) Tip() Tip {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.config.Quorum != nil {
		return f.anchored
	}
	return agreed(f.watched)
}

// poke lets keepUp look at the tip.
func (f *Follower) poke() {
	select {
	case f.wake <- struct{}{}:
	default:
	}
}
