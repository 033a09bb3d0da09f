package process

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"time"
)

// awaitReady returns nil once the process is ready.
func (p *Process) awaitReady(ctx context.Context, s Spec) error {
	limit := s.ReadyTimeout
	if limit == 0 {
		limit = ReadyTimeout
	}
	ctx, cancel := context.WithTimeoutCause(ctx, limit, errNotReady)
	defer cancel()
	answered := make(chan struct{})
	polled := make(chan struct{})
	var url string   // this and urlErr are written before polled is closed
	var urlErr error // why there is nothing to poll
	switch {
	case s.ReadyURL != nil || s.Find != nil:
		go func() {
			defer close(polled)
			there, err := p.awaitFields(ctx, s)
			if err == nil && there && s.ReadyURL != nil {
				url, err = s.ReadyURL(p.Ready())
			}
			switch {
			case err != nil:
				urlErr = err
				cancel()
				return
			case !there:
				return
			case s.ReadyURL == nil:
				close(answered)
				return
			}
			pollURL(ctx, url, answered)
		}()
	case s.ReadyLine:
		answered = p.ready.found
		close(polled)
	default:
		close(answered)
		close(polled)
	}
	defer func() { cancel(); <-polled }()
	select {
	case <-answered:
		p.readyAfter = time.Since(p.begun)
		return nil
	case <-p.exited:
		select {
		case <-answered: // a job may be done before the first poll
			p.readyAfter = time.Since(p.begun)
			return nil
		default:
		}
		if p.err == nil {
			return fmt.Errorf("%s ended with exit code 0 before it was ready%s", p.name, logEnd(p.errorLog()))
		}
		return fmt.Errorf("before it was ready, %w", p.err)
	case <-ctx.Done():
		<-polled
		if urlErr != nil {
			return urlErr
		}
		if context.Cause(ctx) != errNotReady {
			return fmt.Errorf("waiting for %s to be ready: %w", p.name, context.Cause(ctx))
		}
		what := "did not answer " + url + " with a status of 200 to 399"
		if s.ReadyLine && !p.ready.seen() {
			what = "printed no ready line (one JSON object) on stdout"
			if s.Find != nil {
				what = "neither printed a ready line (one JSON object) on stdout nor was found to listen"
			}
		}
		return fmt.Errorf("%s %s within %v: %w%s", p.name, what, limit, errNotReady, logEnd(p.errorLog()))
	}
}

// awaitFields waits for the ready line, or for the fields that replace it, and returns false if ctx
// is done first.
func (p *Process) awaitFields(ctx context.Context, s Spec) (there bool, err error) {
	var line <-chan struct{}
	var polls <-chan time.Time
	if s.ReadyLine {
		line = p.ready.found
	}
	if s.Find != nil {
		tick := time.NewTicker(pollEvery)
		defer tick.Stop()
		polls = tick.C
	}
	if line == nil && polls == nil {
		return true, nil
	}
	for {
		select {
		case <-line:
			if s.Find == nil || p.ready.fields["listen"] != "" {
				return true, nil
			}
			line = nil // an object that the program printed for a purpose of its own
		case <-ctx.Done():
			return false, nil
		case <-polls:
			if fields, err := s.Find(ctx, p.pid); fields != nil || err != nil {
				p.found = fields
				return err == nil, err
			}
		}
	}
}

var errNotReady = errors.New("not ready in time")

const (
	// pollEvery is the resolution of ReadyAfter for a process without a ready line.
	pollEvery = 20 * time.Millisecond
	// pollTimeout bounds one answer: a health check that hangs is polled again.
	pollTimeout = time.Second
)

// pollURL polls until ctx is done and closes answered at the first answer of 200 to 399.
func pollURL(ctx context.Context, url string, answered chan<- struct{}) {
	transport := &http.Transport{DisableKeepAlives: true} // no proxy: the URL is on this machine
	client := &http.Client{Transport: transport, Timeout: pollTimeout}
	tick := time.NewTicker(pollEvery)
	defer tick.Stop()
	for {
		if answers(ctx, client, url) {
			close(answered)
			return
		}
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
		}
	}
}

func answers(ctx context.Context, client *http.Client, url string) bool {
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, url, nil)
	if err != nil {
		return false
	}
	resp, err := client.Do(req)
	if err != nil {
		return false
	}
	defer resp.Body.Close()
	io.CopyN(io.Discard, resp.Body, maxReadyLine)
	return resp.StatusCode >= 200 && resp.StatusCode <= 399
}

// maxReadyLine bounds a ready line, in bytes: some addresses and an assembly.
const maxReadyLine = 64 << 10

// readyLine finds the ready line in what is written to it.
type readyLine struct {
	found  chan struct{}
	fields map[string]string // set before found is closed
	line   []byte            // the current line so far
	tooBig bool              // the current line is too long and is skipped
	done   bool
}

// seen reports whether the line was found.
func (r *readyLine) seen() bool {
	select {
	case <-r.found:
		return true
	default:
		return false
	}
}

func (r *readyLine) Write(b []byte) (int, error) {
	n := len(b)
	for !r.done && len(b) > 0 {
		part, rest, ended := bytes.Cut(b, []byte("\n"))
		r.tooBig = r.tooBig || len(r.line)+len(part) > maxReadyLine
		if !r.tooBig {
			r.line = append(r.line, part...)
		}
		if ended {
			r.take()
		}
		b = rest
	}
	return n, nil
}

// take checks the line that has just ended.
func (r *readyLine) take() {
	fields, ok := parseReady(r.line)
	if ok && !r.tooBig {
		r.fields, r.done = fields, true
		close(r.found)
	}
	r.line, r.tooBig = r.line[:0], false
}

// parseReady parses a ready line. It returns false if the line is not a JSON object or is a log
// record.
func parseReady(line []byte) (map[string]string, bool) {
	var all map[string]any
	if json.Unmarshal(line, &all) != nil || all == nil {
		return nil, false
	}
	if _, isLog := all["level"]; isLog {
		return nil, false
	}
	fields := map[string]string{}
	for k, v := range all {
		if s, ok := v.(string); ok {
			fields[k] = s
		}
	}
	return fields, true
}
