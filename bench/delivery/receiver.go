package main

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"sync/atomic"
	"time"

	"dyno/lab/target"
	"dyno/parts/process"
)

// receiver is notifyd's companion that takes webhooks, verifies them and counts.
type receiver struct {
	process  *process.Process
	url      string // for webhooks
	stats    string // what it has seen
	received atomic.Int64
}

// seen is what a receiver tells of itself.
type seen struct {
	Notices      int64 `json:"notices"`
	Malformed    int64 `json:"malformed"`
	BadSignature int64 `json:"bad_signature"`
}

func (b *bench) startReceiver(ctx context.Context) (*receiver, error) {
	p, err := target.Start(ctx, process.Spec{Name: "sink", ReadyLine: true, Command: []string{b.notifyd, "sink",
		"--listen", "127.0.0.1:0", "--debug", "127.0.0.1:0", "--delay", b.delay.String(), "--secret", b.secret}})
	if err != nil {
		return nil, err
	}
	return &receiver{process: p, url: "http://" + p.Ready()["listen"] + "/hook", stats: "http://" + p.Ready()["debug"] + "/stats"}, nil
}

func (r *receiver) stop() { r.process.Stop(grace) }

// look asks what was received so far.
func (r *receiver) look(ctx context.Context) (out seen, err error) {
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, r.stats, nil)
	if err != nil {
		return out, err
	}
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		return out, err
	}
	defer resp.Body.Close()
	if err := json.NewDecoder(http.MaxBytesReader(nil, resp.Body, maxAnswer)).Decode(&out); err != nil {
		return out, fmt.Errorf("reading %s: %w", r.stats, err)
	}
	r.received.Store(out.Notices)
	return out, nil
}

// lookEvery is how stale the count may be that a feeder goes by: at 50,000/s, 1,000 notices.
const lookEvery = 20 * time.Millisecond

// figures of one side.
type figures struct {
	rate float64 // notices received a second
	cpu  float64 // CPU time of the sending process for each of these, us
}

// watch counts what comes in over length, after warmup, and the CPU time that the sender uses meanwhile, in s. It
// keeps the count fresh.
func (r *receiver) watch(ctx context.Context, warmup, length time.Duration, cpu func() (float64, error)) (out figures, err error) {
	tick := time.NewTicker(lookEvery)
	defer tick.Stop()
	began := time.Now()
	var from time.Time
	var used float64
	first := int64(-1)
	for {
		s, err := r.look(ctx)
		if err != nil {
			return out, err
		}
		now := time.Now()
		switch {
		case now.Sub(began) < warmup:
		case first < 0:
			first, from = s.Notices, now
			if used, err = cpu(); err != nil {
				return out, err
			}
		case now.Sub(from) >= length:
			if s.Notices == first {
				return out, fmt.Errorf("nothing was received for %v", length)
			}
			n := float64(s.Notices - first)
			lasted := now.Sub(from).Seconds()
			now, err := cpu()
			return figures{n / lasted, (now - used) / n * 1e6}, err
		}
		select {
		case <-tick.C:
		case <-ctx.Done():
			return out, ctx.Err()
		}
	}
}

// sound returns an error if something was received that was not as it should be.
func (r *receiver) sound(ctx context.Context) error {
	s, err := r.look(ctx)
	if err == nil && s.Malformed+s.BadSignature > 0 {
		err = fmt.Errorf("the receiver refused %d webhooks as malformed and %d for their signature", s.Malformed, s.BadSignature)
	}
	return err
}
