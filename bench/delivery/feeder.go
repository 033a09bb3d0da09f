package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"net/http"
	"strings"
	"sync"
	"sync/atomic"
	"time"
)

const (
	lines  = 1000   // notices in a request
	bodies = 32     // different requests, sent in turn; the server makes the ids
	keys   = 10_000 // that notices are spread over: no key is what limits
	// feeders is how many requests are under way at once: one is parsed while another is synced.
	feeders = 4
	// ahead is how many notices may be on their way to the receiver, or wait to be sent: enough never to run
	// dry, and far below what notifyd pushes back at.
	ahead = 20_000
)

// feeder posts batches of notices as fast as they are delivered.
type feeder struct {
	client *http.Client
	url    string
	bodies [][]byte
	to     *receiver
	posted atomic.Int64 // notices, those under way included
	next   atomic.Int64
}

func newFeeder(api string, payload int, to *receiver) *feeder {
	f := &feeder{client: &http.Client{Transport: &http.Transport{MaxIdleConnsPerHost: feeders}, Timeout: 30 * time.Second},
		url: api + "/v1/notices", to: to}
	draw := rand.New(rand.NewPCG(1, 2)) // every run gets the same
	note := strings.Repeat("x", payload)
	for range bodies {
		var body bytes.Buffer
		for range lines {
			fmt.Fprintf(&body, `{"key":"key-%d","type":"order.shipped","payload":"%s"}`+"\n", draw.IntN(keys), note)
		}
		f.bodies = append(f.bodies, body.Bytes())
	}
	return f
}

var errFed = errors.New("the feeder was told to stop")

// start feeds until ctx ends or the returned function is called, which waits and says what went wrong.
func (f *feeder) start(ctx context.Context) (stop func() error) {
	ctx, cancel := context.WithCancelCause(ctx)
	var feeding sync.WaitGroup
	for range feeders {
		feeding.Go(func() {
			if err := f.feed(ctx); err != nil && ctx.Err() == nil {
				cancel(err)
			}
		})
	}
	return func() error {
		cancel(errFed) // which a failure before it outlives
		feeding.Wait()
		f.client.CloseIdleConnections()
		if err := context.Cause(ctx); err != errFed {
			return err
		}
		return nil
	}
}

func (f *feeder) feed(ctx context.Context) error {
	pause := time.NewTicker(time.Millisecond)
	defer pause.Stop()
	for ctx.Err() == nil {
		if f.posted.Load()-f.to.received.Load() >= ahead {
			select {
			case <-pause.C:
			case <-ctx.Done():
			}
			continue
		}
		f.posted.Add(lines)
		body := f.bodies[int(f.next.Add(1))%len(f.bodies)]
		if err := post(ctx, f.client, f.url, "application/x-ndjson", body, http.StatusAccepted); err != nil {
			return err
		}
	}
	return nil
}
