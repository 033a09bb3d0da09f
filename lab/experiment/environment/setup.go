package environment

import (
	"bytes"
	"cmp"
	"context"
	"fmt"
	"io"
	"net/http"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"dyno/lab/load/corpus"
	"dyno/lab/scenario"
	"dyno/lab/workload"
)

const (
	// setupTimeout bounds one request of the setup.
	setupTimeout = 10 * time.Second
	// setupConnections is the number of connections for a repeated request: enough that many
	// requests share one fsync of the target, and few enough for any accept queue.
	setupConnections = 32
	// setupSays is the interval of a setup's progress reports.
	setupSays = 2 * time.Second
)

// setup sends the scenario's setup requests one after the other; it sends the copies of a
// repeated request concurrently.
func (s *Testbed) setup(ctx context.Context, requests []scenario.Request) error {
	transport := &http.Transport{MaxConnsPerHost: setupConnections, MaxIdleConnsPerHost: setupConnections}
	client := &http.Client{Transport: transport, Timeout: setupTimeout, CheckRedirect: func(*http.Request, []*http.Request) error {
		return http.ErrUseLastResponse // a redirect may lead to a login page, which answers with 200
	}}
	defer client.CloseIdleConnections()
	for i, r := range requests {
		var err error
		if r.Repeat > 1 {
			err = s.sendMany(ctx, client, i+1, r)
		} else {
			err = s.send(ctx, client, r, 0)
		}
		if err != nil {
			return fmt.Errorf("setup, request %d: %w", i+1, err)
		}
	}
	return nil
}

// sendMany sends all copies of a repeated request. The first failure stops the others.
func (s *Testbed) sendMany(ctx context.Context, client *http.Client, number int, r scenario.Request) error {
	ctx, fail := context.WithCancelCause(ctx)
	defer fail(nil)
	var next, answered atomic.Int64
	var senders sync.WaitGroup
	for range min(setupConnections, r.Repeat) {
		senders.Go(func() {
			for n := next.Add(1) - 1; n < int64(r.Repeat) && ctx.Err() == nil; n = next.Add(1) - 1 {
				if err := s.send(ctx, client, r, int(n)); err != nil {
					fail(fmt.Errorf("${n} %d: %w", n, err))
					return
				}
				answered.Add(1)
			}
		})
	}
	done := make(chan struct{})
	go func() {
		senders.Wait()
		close(done)
	}()
	say := time.NewTicker(setupSays)
	defer say.Stop()
	for {
		select {
		case <-done:
			return context.Cause(ctx)
		case <-say.C:
			s.programs.Say(fmt.Sprintf("setup, request %d: %d of %d sent", number, answered.Load(), r.Repeat))
		}
	}
}

// send sends one request of the setup: of a repeated one, the n-th copy.
func (s *Testbed) send(ctx context.Context, client *http.Client, r scenario.Request, n int) error {
	url, err := s.Repeated("url", r.URL, n)
	if err != nil {
		return err
	}
	body, err := s.Repeated("body", r.Body, n)
	if err != nil {
		return err
	}
	method := http.MethodGet
	if body != "" {
		method = http.MethodPost
	}
	method = cmp.Or(r.Method, method)
	req, err := http.NewRequestWithContext(ctx, method, url, strings.NewReader(body))
	if err != nil {
		return err
	}
	for name, value := range r.Headers {
		if value, err = s.Expand("header "+name, value); err != nil {
			return err
		}
		req.Header.Set(name, value)
	}
	resp, err := client.Do(req)
	if err != nil {
		return err
	}
	defer resp.Body.Close()
	const (
		shown = 300       // bytes of an answer that an error quotes
		most  = 256 << 10 // bytes that are read, so that the connection can be reused
	)
	answer, err := io.ReadAll(io.LimitReader(resp.Body, most))
	if err != nil {
		return err
	}
	check := corpus.Check{Check: workload.Check{Status: r.Expect}}
	if check.PassStatus(resp.StatusCode) {
		return nil
	}
	if to, _, _ := strings.Cut(resp.Header.Get("Location"), "?"); corpus.Redirects(resp.StatusCode) { // its query may contain a token
		return fmt.Errorf("%s %s answered %s, a redirect to %.200s; list the status in expect if that is a success", method, url, resp.Status, to)
	}
	return fmt.Errorf("%s %s answered %s: %s", method, url, resp.Status, bytes.TrimSpace(answer[:min(shown, len(answer))]))
}
