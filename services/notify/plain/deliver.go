package main

import (
	"bytes"
	"container/list"
	"context"
	"io"
	"math/rand/v2"
	"net/http"
	"strconv"
	"time"

	webhooks "github.com/standard-webhooks/standard-webhooks/libraries/go"
)

// subscription is one receiver of notices. Its fields below lanes are guarded by server.mu.
type subscription struct {
	ID      string
	URL     string
	Types   []string
	Batch   int // asked for, but this program sends one notice per webhook
	webhook *webhooks.Webhook

	lanes    map[string]*lane // by key; only keys that have something to deliver
	disabled bool             // it answered 410 Gone
	counts
}

// counts are per (notice, subscription).
type counts struct {
	Accepted  int64 `json:"accepted"`
	Delivered int64 `json:"delivered"`
	Retried   int64 `json:"retried"` // attempts after the first
	Dead      int64 `json:"dead"`
	Refused   int64 `json:"refused"`
}

// lane is what one subscription is still to get of one key, in order. A lane is in the ready channel,
// with a worker, or on a timer: never in two places, so one webhook at most is in flight per key.
type lane struct {
	sub      *subscription
	key      string
	items    []item // guarded by server.mu
	attempts int    // failed ones at the first item
}

type item struct {
	notice   *notice
	accepted *list.Element // its place in server.oldest
}

// store hands the notices to every subscription that wants them, or refuses them all.
func (s *server) store(notices []*notice) (deliveries int, err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.stopping {
		return 0, refuse(http.StatusServiceUnavailable, "shutting down; send it to another instance or again later")
	}
	type pair struct {
		sub    *subscription
		notice *notice
	}
	var pairs []pair
	bytes := 0
	for _, n := range notices {
		for _, sub := range s.subs {
			if sub.wants(n) {
				pairs = append(pairs, pair{sub, n})
				bytes += n.size()
			}
		}
	}
	if s.lanes+len(pairs) > s.limits.pending || s.oldest.Len()+len(pairs) > s.limits.pending || s.bytes+bytes > s.limits.bytes {
		for _, p := range pairs {
			p.sub.Refused++
			s.total.Refused++
		}
		return 0, refuse(http.StatusTooManyRequests, "%d notices wait to be delivered; try again later", s.oldest.Len())
	}
	now := time.Now()
	for _, p := range pairs {
		s.append(p.sub, p.notice, now)
	}
	return len(pairs), nil
}

func (s *server) append(sub *subscription, n *notice, now time.Time) {
	l := sub.lanes[n.Key]
	if l == nil {
		l = &lane{sub: sub, key: n.Key}
		sub.lanes[n.Key] = l
		s.lanes++
		s.ready <- l // never blocks: it has room for as many lanes as there may be
	}
	l.items = append(l.items, item{n, s.oldest.PushBack(now)})
	s.bytes += n.size()
	sub.Accepted++
	s.total.Accepted++
}

func (sub *subscription) wants(n *notice) bool {
	if sub.disabled || len(sub.Types) == 0 {
		return !sub.disabled
	}
	for _, t := range sub.Types {
		if t == n.Type {
			return true
		}
	}
	return false
}

// work delivers the first notice of one ready lane after another until ctx is done.
func (s *server) work(ctx context.Context) {
	defer s.workers.Done()
	for {
		select {
		case <-ctx.Done():
			return
		case l := <-s.ready:
			n := s.first(l)
			if n == nil {
				continue
			}
			status, after := s.post(ctx, l.sub, n)
			if ctx.Err() == nil {
				s.settle(l, status, after)
			}
		}
	}
}

// first returns the notice that a lane is to deliver next; nil when its subscription has gone.
func (s *server) first(l *lane) *notice {
	s.mu.Lock()
	defer s.mu.Unlock()
	if len(l.items) == 0 {
		s.lanes--
		return nil
	}
	return l.items[0].notice
}

// post makes one attempt. A status of 0 says that there was no answer.
func (s *server) post(ctx context.Context, sub *subscription, n *notice) (status int, after time.Duration) {
	body, err := n.body()
	if err != nil {
		return 0, 0
	}
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, sub.URL, bytes.NewReader(body))
	if err != nil {
		return 0, 0
	}
	now := time.Now()
	signature, err := sub.webhook.Sign(n.ID, now, body)
	if err != nil {
		return 0, 0
	}
	req.Header.Set("Content-Type", "application/json")
	req.Header.Set("User-Agent", "notifyd/1")
	req.Header.Set("webhook-id", n.ID)
	req.Header.Set("webhook-timestamp", strconv.FormatInt(now.Unix(), 10))
	req.Header.Set("webhook-signature", signature)
	resp, err := s.client.Do(req)
	if err != nil {
		return 0, 0
	}
	defer resp.Body.Close()
	io.CopyN(io.Discard, resp.Body, 64<<10) // read to the end, the connection can be used again
	return resp.StatusCode, retryAfter(resp.Header.Get("Retry-After"), now)
}

// settle books an attempt's outcome and decides what becomes of the lane.
func (s *server) settle(l *lane, status int, after time.Duration) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if len(l.items) == 0 { // its subscription has gone
		s.lanes--
		return
	}
	l.attempts++
	if l.attempts > 1 {
		l.sub.Retried++
		s.total.Retried++
	}
	switch {
	case status >= 200 && status < 300:
		s.finish(l, true)
	case status == http.StatusGone:
		l.sub.disabled = true
		s.bury(l.sub)
	case l.attempts >= s.limits.attempts:
		s.finish(l, false)
	default:
		time.AfterFunc(max(after, s.backoff(l.attempts)), func() { s.ready <- l })
		return
	}
	if len(l.items) > 0 {
		s.ready <- l
		return
	}
	delete(l.sub.lanes, l.key)
	s.lanes--
}

// finish takes the first notice off its lane.
func (s *server) finish(l *lane, delivered bool) {
	first := l.items[0]
	l.items[0] = item{}
	l.items, l.attempts = l.items[1:], 0
	s.oldest.Remove(first.accepted)
	s.bytes -= first.notice.size()
	if delivered {
		l.sub.Delivered++
		s.total.Delivered++
	} else {
		l.sub.Dead++
		s.total.Dead++
	}
	if s.stopping && s.oldest.Len() == 0 {
		close(s.drained)
	}
}

// bury gives up everything that a subscription has not got.
func (s *server) bury(sub *subscription) {
	for key, l := range sub.lanes {
		for len(l.items) > 0 {
			s.finish(l, false)
		}
		delete(sub.lanes, key)
	}
}

// backoff doubles with every attempt; half of it is random, so that receivers are not hit in step.
func (s *server) backoff(attempts int) time.Duration {
	d := min(s.limits.backoff<<min(attempts-1, 20), s.limits.maxBackoff)
	return d/2 + rand.N(d/2+1)
}

// retryAfter reads a Retry-After header: seconds or a date, at most an hour.
func retryAfter(value string, now time.Time) time.Duration {
	var d time.Duration
	if seconds, err := strconv.Atoi(value); err == nil {
		d = time.Duration(min(seconds, 3600)) * time.Second
	} else if at, err := http.ParseTime(value); err == nil {
		d = at.Sub(now)
	}
	return min(max(d, 0), time.Hour)
}
