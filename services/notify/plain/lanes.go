package main

import (
	"bytes"
	"container/list"
	"context"
	"fmt"
	"io"
	"log/slog"
	"math/rand/v2"
	"net/http"
	"strconv"
	"time"

	webhooks "github.com/standard-webhooks/standard-webhooks/libraries/go"
)

// subscription is one receiver of notices; the journal has its exported fields, which never change.
type subscription struct {
	ID      string `json:"id"`
	URL     string `json:"url"`
	Secret  []byte `json:"secret"` // of the signatures
	signer  *webhooks.Webhook
	lanes   map[string]*lane // by key
	pending map[uint64]*lane // by the number of the notice
}

// counts are per (notice, subscription). Accepted equals Delivered + Dead + what is pending.
type counts struct {
	Accepted  int64 `json:"accepted"`
	Delivered int64 `json:"delivered"`
	Retried   int64 `json:"retried"` // attempts after the first
	Dead      int64 `json:"dead"`
}

// lane holds a subscription's pending notices of one key, in order. It is in the ready channel,
// with a worker or on a timer, never in two places: at most one webhook is in flight per key.
type lane struct {
	sub   *subscription
	key   string
	items []item
	tries int       // failed ones at the first item
	next  time.Time // of the next attempt at it; zero: immediately
}

type item struct {
	notice *notice
	since  *list.Element // its place in server.oldest
}

// event is one line of the journal. Notices and events, in the order of At, add up to the state:
// only admit and apply change it, while the process runs and when it reads the files again.
type event struct {
	Do     string        `json:"do"`
	At     uint64        `json:"at"` // the last notice's number when it happened
	Sub    string        `json:"sub,omitempty"`
	Seq    uint64        `json:"seq,omitempty"`    // the notice's
	Tries  int           `json:"tries,omitempty"`  // with this one
	Next   time.Time     `json:"next,omitzero"`    // attempt
	Change *subscription `json:"change,omitempty"` // of put
	Reason string        `json:"reason,omitempty"` // of died
}

// What an event does.
const (
	put       = "put"       // a subscription is made
	delivered = "delivered" // a notice
	failed    = "failed"    // an attempt
	died      = "died"      // a notice is a dead letter
)

// record writes an event and applies it. The caller holds mu.
func (s *server) record(e event) {
	e.At = s.seq
	if err := s.journal.append(e); err != nil {
		slog.Error("an event cannot be recorded: a start does not know of it", "error", err)
	}
	s.apply(e)
}

// admit appends a stored notice to its lanes, and remembers its id. The caller holds mu.
func (s *server) admit(n *notice) {
	s.seq = n.Seq
	for _, id := range n.To {
		sub := s.subs[id]
		if sub == nil || sub.pending[n.Seq] != nil {
			continue
		}
		l := sub.lanes[n.Key]
		if l == nil {
			l = &lane{sub: sub, key: n.Key}
			sub.lanes[n.Key] = l
			if s.ready != nil { // else newServer does it
				s.lanes++
				s.ready <- l // never blocks: it has room for as many lanes as there may be
			}
		}
		l.items = append(l.items, item{n, s.oldest.PushBack(n.Accepted)})
		sub.pending[n.Seq] = l
		s.bytes += n.size()
		s.counts.Accepted++
	}
	s.seen.add(n.seenAs())
}

// apply does what an event says, if its notice is pending. The caller holds mu.
func (s *server) apply(e event) {
	if e.Do == put && e.Change != nil {
		sub := e.Change
		sub.signer, _ = webhooks.NewWebhookRaw(sub.Secret) // never fails
		sub.lanes, sub.pending = map[string]*lane{}, map[uint64]*lane{}
		s.subs[sub.ID] = sub
		return
	}
	var l *lane
	if sub := s.subs[e.Sub]; sub != nil {
		l = sub.pending[e.Seq]
	}
	if l == nil || l.items[0].notice.Seq != e.Seq {
		return
	}
	if e.Tries > 1 {
		s.counts.Retried++
	}
	switch e.Do {
	case failed:
		l.tries, l.next = e.Tries, e.Next
		return
	case delivered:
		s.counts.Delivered++
	case died:
		s.counts.Dead++
	}
	it := l.items[0]
	l.items[0] = item{} // for the garbage collector
	l.items, l.tries, l.next = l.items[1:], 0, time.Time{}
	if len(l.items) == 0 && s.ready == nil {
		delete(l.sub.lanes, l.key) // it was never set in motion
	}
	delete(l.sub.pending, e.Seq)
	s.oldest.Remove(it.since)
	s.bytes -= it.notice.size()
}

// work delivers the first notice of one ready lane after another until ctx is done.
func (s *server) work(ctx context.Context) {
	for {
		select {
		case <-ctx.Done():
			return
		case l := <-s.ready:
			s.mu.Lock()
			n := l.items[0].notice
			s.mu.Unlock()
			err := s.post(ctx, n, l.sub)
			if ctx.Err() == nil {
				s.attempted(l, n, err)
			}
		}
	}
}

// post makes one attempt.
func (s *server) post(ctx context.Context, n *notice, to *subscription) error {
	body := n.body()
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, to.URL, bytes.NewReader(body))
	if err != nil {
		return err
	}
	now := time.Now()
	signature, _ := to.signer.Sign(n.ID, now, body) // never fails
	req.Header.Set("Content-Type", "application/json")
	req.Header.Set("User-Agent", "notifyd/1")
	req.Header.Set("webhook-id", n.ID)
	req.Header.Set("webhook-timestamp", strconv.FormatInt(now.Unix(), 10))
	req.Header.Set("webhook-signature", signature)
	resp, err := s.client.Do(req)
	if err != nil {
		return err
	}
	defer resp.Body.Close()
	io.CopyN(io.Discard, resp.Body, 64<<10) // read to the end, the connection can be used again
	if resp.StatusCode < 200 || resp.StatusCode >= 300 {
		return fmt.Errorf("answered %s", resp.Status)
	}
	return nil
}

// attempted records an attempt's outcome and sends the lane on its way.
func (s *server) attempted(l *lane, n *notice, err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	e := event{Do: delivered, Sub: l.sub.ID, Seq: n.Seq, Tries: l.tries + 1}
	switch {
	case err != nil && e.Tries >= s.limits.attempts:
		e.Do, e.Reason = died, err.Error()
	case err != nil:
		e.Do, e.Next = failed, time.Now().Add(s.backoff(e.Tries)).UTC()
	}
	s.record(e)
	if len(l.items) > 0 {
		s.after(l, time.Until(l.next))
		return
	}
	delete(l.sub.lanes, l.key)
	s.lanes--
}

// after makes a lane ready in a while. The caller has the lane, and holds mu.
func (s *server) after(l *lane, wait time.Duration) {
	if wait <= 0 {
		s.ready <- l // never blocks: see admit
		return
	}
	time.AfterFunc(wait, func() { s.ready <- l })
}

// backoff doubles with every attempt; half of it is random, so that receivers are not hit in step.
func (s *server) backoff(attempts int) time.Duration {
	d := min(s.limits.backoff<<min(attempts-1, 20), s.limits.maxBackoff)
	return d/2 + rand.N(d/2+1)
}
