package main

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"math/rand/v2"
	"net/http"
	"strconv"
	"time"
)

// outcome of an attempt.
type outcome struct {
	status int           // 0: there was no answer
	after  time.Duration // what Retry-After asks for
	text   string        // what went wrong; "": nothing
}

// work delivers the first notice of one ready lane after another until ctx is done.
func (s *server) work(ctx context.Context) {
	defer s.workers.Done()
	for {
		select {
		case <-ctx.Done():
			return
		case l := <-s.ready:
			n, to := s.first(l)
			if n == nil {
				continue
			}
			out := s.post(ctx, n, to)
			if ctx.Err() == nil {
				s.attempted(l, n, out)
			}
		}
	}
}

// target is where a webhook goes.
type target struct {
	url     string
	signers []signer
}

// first returns the notice that a lane is to deliver next, and where to; nil when there is none.
func (s *server) first(l *lane) (*notice, target) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if len(l.items) == 0 {
		s.retire(l)
		return nil, target{}
	}
	l.sub.inFlight++
	s.webhooks++
	return l.items[0].notice, target{l.sub.URL, l.sub.signers}
}

// retire removes an empty lane. The caller has it, and holds mu.
func (s *server) retire(l *lane) {
	delete(l.sub.lanes, l.key)
	s.lanes--
}

// post makes one attempt.
func (s *server) post(ctx context.Context, n *notice, to target) outcome {
	body, err := n.body()
	if err != nil {
		return outcome{text: err.Error()}
	}
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, to.url, bytes.NewReader(body))
	if err != nil {
		return outcome{text: err.Error()}
	}
	now := time.Now()
	signature, err := sign(to.signers, n.ID, now, body)
	if err != nil {
		return outcome{text: err.Error()}
	}
	req.Header.Set("Content-Type", "application/json")
	req.Header.Set("User-Agent", "notifyd/1")
	req.Header.Set("webhook-id", n.ID)
	req.Header.Set("webhook-timestamp", strconv.FormatInt(now.Unix(), 10))
	req.Header.Set("webhook-signature", signature)
	if n.Trace != "" {
		req.Header.Set("traceparent", n.Trace)
	}
	resp, err := s.client.Do(req)
	if err != nil {
		return outcome{text: reason(err)}
	}
	defer resp.Body.Close()
	io.CopyN(io.Discard, resp.Body, 64<<10) // read to the end, the connection can be used again
	if resp.StatusCode >= 200 && resp.StatusCode < 300 {
		return outcome{status: resp.StatusCode}
	}
	return outcome{resp.StatusCode, retryAfter(resp.Header.Get("Retry-After"), now), fmt.Sprintf("answered %s", resp.Status)}
}

// attempted books an attempt's outcome and decides what becomes of the lane.
func (s *server) attempted(l *lane, n *notice, out outcome) {
	s.mu.Lock()
	defer s.mu.Unlock()
	sub := l.sub
	sub.inFlight--
	sub.lastStatus, sub.lastError = out.status, out.text
	if len(l.items) > 0 && l.items[0].notice == n { // else it was given up meanwhile
		s.book(l, n, out)
	}
	if len(l.items) == 0 {
		s.retire(l)
		return
	}
	s.after(l, time.Until(l.next))
}

func (s *server) book(l *lane, n *notice, out outcome) {
	sub, tries := l.sub, l.tries+1
	if out.text == "" {
		s.record(event{Do: delivered, Sub: sub.ID, Seq: n.Seq, Tries: tries})
		return
	}
	wait := max(out.after, s.backoff(tries))
	s.record(event{Do: failed, Sub: sub.ID, Seq: n.Seq, Tries: tries, Next: time.Now().Add(wait).UTC()})
	switch {
	case out.status == http.StatusGone:
		s.disable(sub, "it answered 410 Gone")
	case tries >= s.limits.attempts:
		s.die(sub, n.Seq, letter{Reason: out.text, Attempts: tries, Status: out.status})
	}
}

// disable lets a subscription get nothing until a client enables it again. The caller holds mu.
func (s *server) disable(sub *subscription, reason string) {
	d := sub.definition
	d.Disabled = reason
	s.record(event{Do: put, Change: &d})
	s.bury(sub, "the subscription is disabled: "+reason)
}

// after makes a lane ready in a while. The caller has the lane, and holds mu.
func (s *server) after(l *lane, wait time.Duration) {
	if wait <= 0 {
		s.ready <- l // never blocks: see enqueue
		return
	}
	l.timer = time.AfterFunc(wait, func() { s.ready <- l })
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
