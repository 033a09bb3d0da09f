// Command notices runs notifyd in a process of its own, feeds it notices as NDJSON of 1,000 and
// prints as the windows of a job those that a receiver (notifyd sink) has verified: the whole way
// from ingest through the disk to the signed webhook.
//
//	notices --to http://127.0.0.1:9000/hook --stats http://127.0.0.1:9001/stats --secret whsec_... --data DIR
//
// Its CPU time is notifyd's and that of the feeding. It is not for latency (scenarios/notify.yaml
// is). It feeds no faster than notices are delivered. It owns notifyd and the goroutines that feed
// it, which have ended when it ends.
package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io"
	"math/rand/v2"
	"net/http"
	"os"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"dyno/agent/monotonic"
	"dyno/bench/peers/callers"
	"dyno/lab/load/windows"
	"dyno/lab/record"
	"dyno/parts/command"
	"dyno/services/notify"
)

const (
	lines  = 1000   // notices in a request
	bodies = 32     // different requests, sent in turn; the server makes the ids
	keys   = 10_000 // the notices are spread over them, so that no key is the limit
	// feeders is the number of concurrent requests: one is parsed while another is synced.
	feeders = 4
	// ahead is the largest number of notices on their way: enough never to run dry, and far below
	// what notifyd pushes back at.
	ahead = 20_000
	// lookEvery is the interval at which the receiver is asked for its count.
	lookEvery = 20 * time.Millisecond
	window    = int64(record.WindowLength)
	maxAnswer = 4 << 20 // bytes
)

type options struct {
	to, stats, secret, assembly, dir string
	inFlight, batch, payload         int
}

func main() {
	if len(os.Args) > 1 && os.Args[1] == "serve" {
		command.Main(notify.Service())
		return
	}
	var o options
	flag.StringVar(&o.to, "to", "", "`URL` of the receiver")
	flag.StringVar(&o.stats, "stats", "", "`URL` of the receiver's counts")
	flag.StringVar(&o.secret, "secret", "", "whsec_... secret to sign with")
	flag.StringVar(&o.assembly, "assembly", "tuned", "assembly of notifyd")
	flag.StringVar(&o.dir, "data", "", "`folder` of notifyd")
	flag.IntVar(&o.inFlight, "in-flight", 256, "webhooks in flight")
	flag.IntVar(&o.batch, "batch", 1, "notices in a webhook, at most")
	flag.IntVar(&o.payload, "payload", 160, "bytes of a notice's payload, about")
	flag.Parse()
	callers.Main("notices", func(ctx context.Context) error { return o.run(ctx, os.Stdout) })
}

func (o options) run(ctx context.Context, stdout io.Writer) error {
	if o.to == "" || o.stats == "" || o.dir == "" {
		return errors.New("give --to, --stats and --data")
	}
	ready, stop, err := callers.Self("serve", "--listen", "127.0.0.1:0", "--debug", "127.0.0.1:0", "--lame-duck", "0s", "--log-level", "warn",
		"--data", o.dir, "--allow-private-targets", "--assembly", o.assembly, "--set", "workers="+strconv.Itoa(o.inFlight))
	if err != nil {
		return err
	}
	defer stop()
	var line struct{ Listen string }
	if err := json.Unmarshal([]byte(ready), &line); err != nil {
		return fmt.Errorf("notifyd printed %q: %w", ready, err)
	}
	f := feeder{client: &http.Client{Transport: &http.Transport{MaxIdleConnsPerHost: feeders}, Timeout: 30 * time.Second},
		api: "http://" + line.Listen, stats: o.stats, bodies: makeBodies(o.payload)}
	defer f.client.CloseIdleConnections()
	subscription, err := json.Marshal(map[string]any{"url": o.to, "secret": o.secret, "concurrency": o.inFlight, "batch": o.batch})
	if err == nil {
		_, err = f.do(ctx, http.MethodPost, f.api+"/v1/subscriptions", "application/json", subscription, http.StatusCreated)
	}
	if err != nil {
		return err
	}
	ctx, fail := context.WithCancelCause(ctx)
	var feeding sync.WaitGroup
	for range feeders {
		feeding.Go(func() {
			if err := f.feed(ctx); err != nil {
				fail(err)
			}
		})
	}
	out := windows.NewWriter(stdout)
	fail(f.count(ctx, out))
	feeding.Wait()
	if err = context.Cause(ctx); errors.Is(err, context.Canceled) {
		err = nil // it was stopped
	}
	return errors.Join(err, out.Close(err))
}

// feeder posts notices as fast as they are delivered.
type feeder struct {
	client           *http.Client
	api, stats       string
	bodies           [][]byte
	posted, received atomic.Int64 // notices; those under way count as posted
	next             atomic.Int64
}

func makeBodies(payload int) (out [][]byte) {
	draw := rand.New(rand.NewPCG(1, 2)) // every run gets the same
	for range bodies {
		var body bytes.Buffer
		for range lines {
			fmt.Fprintf(&body, `{"key":"key-%d","type":"order.shipped","payload":"%s"}`+"\n", draw.IntN(keys), strings.Repeat("x", payload))
		}
		out = append(out, body.Bytes())
	}
	return out
}

func (f *feeder) feed(ctx context.Context) error {
	pause := time.NewTicker(5 * time.Millisecond)
	defer pause.Stop()
	for ctx.Err() == nil {
		if f.posted.Load()-f.received.Load() >= ahead {
			select {
			case <-pause.C:
			case <-ctx.Done():
			}
			continue
		}
		f.posted.Add(lines)
		body := f.bodies[int(f.next.Add(1))%len(f.bodies)]
		_, err := f.do(ctx, http.MethodPost, f.api+"/v1/notices", "application/x-ndjson", body, http.StatusAccepted)
		if err != nil && ctx.Err() == nil {
			return err
		}
	}
	return nil
}

// count prints what the receiver has counted in each window.
func (f *feeder) count(ctx context.Context, out *windows.Writer) error {
	tick := time.NewTicker(lookEvery)
	defer tick.Stop()
	start, before := monotonic.Now()/window*window, int64(0)
	for {
		select {
		case <-ctx.Done():
			return nil
		case <-tick.C:
		}
		var seen struct {
			Notices      int64 `json:"notices"`
			Malformed    int64 `json:"malformed"`
			BadSignature int64 `json:"bad_signature"`
		}
		answer, err := f.do(ctx, http.MethodGet, f.stats, "", nil, http.StatusOK)
		if err == nil {
			err = json.Unmarshal(answer, &seen)
		}
		if err == nil && seen.Malformed+seen.BadSignature > 0 {
			err = fmt.Errorf("the receiver refused %d webhooks as malformed and %d for their signature", seen.Malformed, seen.BadSignature)
		}
		if err != nil {
			return err
		}
		f.received.Store(seen.Notices)
		if now := monotonic.Now(); now < start+window {
			continue
		}
		done := seen.Notices - before
		w := record.Window{Start: start, Phase: record.PhaseMeasure, Client: record.Client{Offered: done, Sent: done, Ended: done}}
		if err := out.Window(w, nil); err != nil {
			return err
		}
		start, before = max(start+window, monotonic.Now()/window*window), seen.Notices // after a stall windows are left out
	}
}

func (f *feeder) do(ctx context.Context, method, url, contentType string, body []byte, want int) ([]byte, error) {
	req, err := http.NewRequestWithContext(ctx, method, url, bytes.NewReader(body))
	if err != nil {
		return nil, err
	}
	req.Header.Set("Content-Type", contentType)
	resp, err := f.client.Do(req)
	if err != nil {
		return nil, err
	}
	defer resp.Body.Close()
	answer, err := io.ReadAll(io.LimitReader(resp.Body, maxAnswer))
	if err == nil && resp.StatusCode != want {
		err = fmt.Errorf("%s %s answered %s: %.300s", method, url, resp.Status, answer)
	}
	return answer, err
}
