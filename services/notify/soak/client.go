package soak

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"strings"
	"sync"
	"time"
)

// door is where clients wait while there is no process that they could talk to.
type door struct {
	mu     sync.Mutex
	base   string        // of the URLs; "": shut
	opened chan struct{} // closed when it opens
}

func newDoor() *door { return &door{opened: make(chan struct{})} }

func (d *door) open(base string) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.base = base
	close(d.opened)
}

func (d *door) shut() {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.base != "" {
		d.base, d.opened = "", make(chan struct{})
	}
}

func (d *door) pass(ctx context.Context) (base string, err error) {
	for {
		d.mu.Lock()
		base, opened := d.base, d.opened
		d.mu.Unlock()
		if base != "" {
			return base, nil
		}
		select {
		case <-opened:
		case <-ctx.Done():
			return "", context.Cause(ctx)
		}
	}
}

// client talks to whatever process there is.
type client struct {
	door *door
	http *http.Client
}

func newClient(d *door) *client {
	return &client{d, &http.Client{Transport: &http.Transport{MaxIdleConnsPerHost: 8}, Timeout: time.Minute}}
}

func (c *client) close() { c.http.CloseIdleConnections() }

// Content types of the API.
const (
	one   = "application/json"
	batch = "application/x-ndjson"
)

const maxAnswer = 32 << 20 // bytes; a thousand subscriptions take less than one MiB

// do makes one request. A broken error means that the answer was incomplete: the server may or may
// not have done the request.
func (c *client) do(ctx context.Context, method, path, contentType, body string) (status int, answer []byte, err error) {
	base, err := c.door.pass(ctx)
	if err != nil {
		return 0, nil, err
	}
	req, err := http.NewRequestWithContext(ctx, method, base+path, strings.NewReader(body))
	if err != nil {
		return 0, nil, err
	}
	if body != "" {
		req.Header.Set("Content-Type", contentType)
	}
	resp, err := c.http.Do(req)
	if err == nil {
		defer resp.Body.Close()
		answer, err = io.ReadAll(io.LimitReader(resp.Body, maxAnswer))
	}
	if err != nil {
		if ctx.Err() != nil {
			return 0, nil, context.Cause(ctx)
		}
		return 0, nil, broken{err}
	}
	return resp.StatusCode, answer, nil
}

// broken is the error of a request whose answer did not come.
type broken struct{ error }

// get asks for something until it is answered, and decodes it.
func (c *client) get(ctx context.Context, path string, into any) error {
	for range attempts {
		status, answer, err := c.do(ctx, http.MethodGet, path, "", "")
		if _, again := err.(broken); again {
			if err := pause(ctx, 10*time.Millisecond); err != nil {
				return err
			}
			continue
		}
		if err != nil {
			return err
		}
		if status != http.StatusOK {
			return fmt.Errorf("GET %s: %d %.300s", path, status, answer)
		}
		if err := json.Unmarshal(answer, into); err != nil {
			return fmt.Errorf("GET %s: %w: %.300s", path, err, answer)
		}
		return nil
	}
	return fmt.Errorf("GET %s: no answer in %d attempts", path, attempts)
}

// attempts bound how often a request is made again. A crash breaks one or two of them;
// backpressure, at a tenth of a second each, may take some more.
const attempts = 1000

// later says that a request may be made again as it is.
func later(status int) bool {
	return status == http.StatusTooManyRequests || status >= 500
}

// pause waits for d, or until ctx ends.
func pause(ctx context.Context, d time.Duration) error {
	wait := time.NewTimer(d)
	defer wait.Stop()
	select {
	case <-wait.C:
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}
