package peers

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"slices"
	"time"
)

// record is what a node remembers of a permitted peer.
type record struct {
	peer     *peer // nil: not connected
	offences int   // that count
	until    time.Time
	last     string // why the last connection ended
	dropped  uint64 // in earlier connections
	seen     time.Time
}

// A first offence keeps a peer away for minAway; each further one doubles that. A connection of
// forgiving without an offence makes them forgotten.
const (
	minAway   = time.Second
	maxAway   = 5 * time.Minute
	forgiving = 10 * time.Minute
)

// errReplaced means that both ends dialled, and one of the connections is enough.
var errReplaced = errors.New("there is another connection to the peer")

// enter makes a connection that of its peer. When there are two, that one stays which the lower ID
// has dialled, so that both ends keep the same; of one end's, the newer, as it knows that the other
// is dead.
func (n *Network) enter(p *peer) error {
	for {
		n.mu.Lock()
		r := n.records[p.id]
		switch old := r.peer; {
		case time.Now().Before(r.until):
			n.mu.Unlock()
			return errAway
		case old == nil:
			r.peer = p
			n.mu.Unlock()
			n.o.Log.Info("peer connected", "peer", p.id, "address", p.address, "dialled", p.dialled)
			n.tell(p.id, true)
			return nil
		case old.dialled != p.dialled && p.dialled == (bytes.Compare(p.id[:], n.id[:]) < 0):
			n.mu.Unlock()
			return errReplaced
		default:
			gone := n.changed
			n.mu.Unlock()
			old.end(errReplaced)
			<-gone
		}
	}
}

var errAway = errors.New("it is kept away for what it has done before")

// leave takes a connection away that has ended.
func (n *Network) leave(p *peer, why error) {
	n.tell(p.id, false)
	offence := (*Offence)(nil)
	n.mu.Lock()
	defer n.mu.Unlock()
	r := n.records[p.id]
	p.queue.mu.Lock()
	r.dropped += p.queue.dropped
	p.queue.mu.Unlock()
	r.peer, r.seen, r.last = nil, time.Unix(0, p.seen.Load()), why.Error()
	if errors.As(why, &offence) {
		n.offended(p.id, r, time.Since(p.since), why)
	} else {
		n.o.Log.Info("peer disconnected", "peer", p.id, "address", p.address, "why", why)
	}
	close(n.changed)
	n.changed = make(chan struct{})
}

// offended counts an offence. The caller holds the lock.
func (n *Network) offended(id ID, r *record, connected time.Duration, why error) {
	if connected >= forgiving {
		r.offences = 0
	}
	away := min(minAway<<min(r.offences, 30), maxAway)
	r.offences++
	r.until, r.last = time.Now().Add(away), why.Error()
	n.o.Log.Warn("peer blamed and disconnected", "peer", id, "why", why, "offences", r.offences, "away", away)
}

// gone waits until a peer is not connected.
func (n *Network) gone(ctx context.Context, id ID) {
	for {
		n.mu.Lock()
		r, changed := n.records[id], n.changed
		connected := r != nil && r.peer != nil
		n.mu.Unlock()
		if !connected {
			return
		}
		select {
		case <-changed:
		case <-ctx.Done():
			return
		}
	}
}

// away is for how long a peer is kept away.
func (n *Network) away(id ID) time.Duration {
	n.mu.Lock()
	defer n.mu.Unlock()
	if r := n.records[id]; r != nil {
		return time.Until(r.until)
	}
	return 0
}

// Status is what is known of a peer.
type Status struct {
	ID        ID         `json:"id"`
	Address   string     `json:"address,omitempty"`
	Connected bool       `json:"connected"`
	Dialled   bool       `json:"dialled"` // by this node
	Queued    int        `json:"queued"`  // messages
	Dropped   uint64     `json:"dropped"` // messages, since the start
	Stalled   bool       `json:"stalled"`
	LastSeen  *time.Time `json:"last_seen"`  // null: never
	Score     int        `json:"score"`      // 0, less one for each offence that counts
	Away      float64    `json:"away_s"`     // for which it is kept away
	LastError string     `json:"last_error"` // why the last connection ended
}

// Totals are figures of all peers.
type Totals struct {
	Connected, Stalled, Queued int64
	Dropped, Refused           uint64
}

// Peers lists the permitted peers by ID.
func (n *Network) Peers() []Status {
	n.mu.Lock()
	defer n.mu.Unlock()
	list := make([]Status, 0, len(n.records))
	for id, r := range n.records {
		s := Status{ID: id, Dropped: r.dropped, Score: -r.offences, Away: max(0, time.Until(r.until).Seconds()), LastError: r.last}
		seen := r.seen
		if p := r.peer; p != nil {
			seen = time.Unix(0, p.seen.Load())
			s.Connected, s.Address, s.Dialled = true, p.address, p.dialled
			p.queue.mu.Lock()
			s.Queued, s.Stalled = len(p.queue.out), p.queue.stalled
			s.Dropped += p.queue.dropped
			p.queue.mu.Unlock()
		}
		if !seen.IsZero() {
			s.LastSeen = &seen
		}
		list = append(list, s)
	}
	slices.SortFunc(list, func(a, b Status) int { return cmp.Compare(a.ID.String(), b.ID.String()) })
	return list
}

// Totals returns the figures for the metrics.
func (n *Network) Totals() Totals {
	return Totals{
		Connected: int64(len(n.Connected())), Stalled: n.load.stalled.Load(), Queued: n.load.messages.Load(),
		Dropped: n.load.dropped.Load(), Refused: n.load.refused.Load(),
	}
}
