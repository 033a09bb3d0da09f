package tip

import (
	"context"
	"errors"
	"fmt"
	"time"

	"dyno/services/ledger/servers/response"
	"dyno/services/ledger/trust"
)

// remembered is how many of a server's last ledgers are kept. Servers differ by a few at most.
const remembered = 16

// watched is a server and what it reported on its current connection. Follower.mu guards it.
type watched struct {
	server      Server
	said        [remembered]response.Tip // ring buffer of the last ledgers that it reported
	ledgers     int                      // number of ledgers reported on this connection; 0: not connected
	newest      uint32
	disconnects int
	trouble     error // why it is not connected, or what is wrong with its messages; nil: no problem
}

func (w *watched) hasSaid(t response.Tip) bool {
	for _, s := range w.said[:min(w.ledgers, remembered)] {
		if s == t {
			return true
		}
	}
	return false
}

// agreed is the newest ledger that more than half of the servers reported, of those that are
// connected or not tried yet: the first server to connect must not decide alone.
func agreed(servers []*watched) (best response.Tip) {
	count := 0
	for _, w := range servers {
		if w.ledgers > 0 || w.trouble == nil {
			count++
		}
	}
	for _, w := range servers {
		for _, t := range w.said[:min(w.ledgers, remembered)] {
			if t.Index <= best.Index {
				continue
			}
			votes := 0
			for _, other := range servers {
				if other.hasSaid(t) {
					votes++
				}
			}
			if 2*votes > count {
				best = t
			}
		}
	}
	return best
}

// watch listens to a server, and redials it, until ctx ends. fail gets errors that end Run.
func (f *Follower) watch(ctx context.Context, w *watched, fail context.CancelCauseFunc) {
	wait := minBackoff
	for {
		err := f.listen(ctx, w)
		if ctx.Err() != nil {
			return
		}
		if trust.Final(err) {
			fail(err)
			return
		}
		if f.lost(w, err) {
			wait = minBackoff // the connection brought ledgers
		}
		f.config.Log.Warn("a subscription ended", "server", w.server.Name(), "error", err, "again_in", wait.String())
		wait = pause(ctx, wait)
	}
}

// lost discards what a server reported, and returns whether it reported a ledger on the connection.
func (f *Follower) lost(w *watched, err error) (useful bool) {
	f.mu.Lock()
	useful = w.ledgers > 0
	w.ledgers, w.trouble = 0, err
	w.disconnects++
	f.mu.Unlock()
	f.poke() // the remaining servers may agree now
	return useful
}

// listen processes a server's events until the connection ends or is silent for Config.Stall.
func (f *Follower) listen(ctx context.Context, w *watched) error {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	stalled := time.AfterFunc(f.config.Stall, func() { cancel(fmt.Errorf("it reported no ledger for %v", f.config.Stall)) })
	defer stalled.Stop()
	streams := []string{response.Ledgers}
	if f.config.Quorum != nil {
		streams = append(streams, response.Validations)
	}
	for e, err := range w.server.Subscribe(ctx, streams...) {
		if err == nil {
			err = f.heard(w, e)
		}
		if ctx.Err() != nil {
			return context.Cause(ctx)
		}
		if err != nil {
			return err
		}
		if e.Stream == response.Ledgers {
			stalled.Reset(f.config.Stall)
		}
	}
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	return errors.New("the subscription ended without a reason")
}

// errNoBytes is for servers whose validations cannot be counted.
var errNoBytes = errors.New("it forwards validations without their bytes, which a quorum needs; add a server with a newer rippled")

// heard processes an event. An error is the server's fault, or one for which trust.Final is
// true.
func (f *Follower) heard(w *watched, e response.Event) error {
	f.mu.Lock()
	defer f.mu.Unlock()
	switch {
	case e.Stream == response.Ledgers:
		w.said[w.ledgers%remembered] = response.Tip{Index: e.Index, Hash: e.Hash}
		w.newest = max(w.newest, e.Index)
		w.ledgers++
		if !errors.Is(w.trouble, errNoBytes) {
			w.trouble = nil
		}
	case e.Stream != response.Validations || f.config.Quorum == nil:
		return nil
	case len(e.Validation) == 0:
		if !errors.Is(w.trouble, errNoBytes) {
			f.config.Log.Warn("a server's validations cannot be counted", "server", w.server.Name(), "error", errNoBytes)
		}
		w.trouble = errNoBytes
		return nil
	default:
		anchor, reached, err := f.config.Quorum.Add(e.Validation)
		if err != nil {
			return fmt.Errorf("a validation: %w", err)
		}
		if !reached || anchor.Index <= f.anchored.Index {
			return nil
		}
		f.anchored = response.Tip{Index: anchor.Index, Hash: anchor.Hash}
	}
	f.poke()
	return nil
}

// Status is a snapshot of a Follower.
type Status struct {
	Tip      response.Tip
	Settled  uint32 // no ledger up to here is missing
	Fetches  int
	Failures int   // fetches that failed
	Trouble  error // of the last fetch; nil: it succeeded
	Servers  []ServerStatus
}

// Lag is the number of ledgers up to the tip that are not stored yet; 0 before there is a tip.
func (s Status) Lag() uint32 {
	if s.Settled == 0 || s.Tip.Index < s.Settled {
		return 0
	}
	return s.Tip.Index - s.Settled
}

// ServerStatus is a snapshot of one server.
type ServerStatus struct {
	Name        string
	Connected   bool
	Newest      uint32 // the newest ledger that it reported
	Disconnects int
	Trouble     error // why it is not connected, or what is wrong with its messages; nil: no problem
}

// Status returns a snapshot.
func (f *Follower) Status() Status {
	s := Status{Tip: f.Tip()}
	f.mu.Lock()
	defer f.mu.Unlock()
	s.Settled = f.settled
	s.Fetches, s.Failures, s.Trouble = f.fetches, f.failures, f.trouble
	for _, w := range f.watched {
		s.Servers = append(s.Servers, ServerStatus{w.server.Name(), w.ledgers > 0, w.newest, w.disconnects, w.trouble})
	}
	return s
}
