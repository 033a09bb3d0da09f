package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"sync"
	"sync/atomic"
	"time"

	"github.com/HdrHistogram/hdrhistogram-go"
)

// measureWord, as the first argument, makes this program the process in which one subject is measured:
// measure NAME DIR LENGTH NOTIFYD.
const measureWord = "measure"

// warmUp is how long a subject runs before it is measured: files and connections exist then.
const warmUp = 300 * time.Millisecond

// measured is what such a process reports.
type measured struct {
	Records    int64   `json:"records"`
	PerSecond  float64 `json:"records_per_s"`
	P50        float64 `json:"append_p50_us"` // of one append, from its call to its acknowledgement
	P99        float64 `json:"append_p99_us"`
	Written    float64 `json:"bytes_written_per_record"` // by the process that writes the disk; 0: unknown
	Flushes    float64 `json:"disk_flushes_per_s"`       // of the whole machine; 0: unknown
	PerRequest float64 `json:"records_per_append"`
}

func measureMain(ctx context.Context, args []string) error {
	if len(args) != 4 {
		return fmt.Errorf("usage: log %s NAME DIR LENGTH NOTIFYD", measureWord)
	}
	s, err := subjectOf(args[0])
	if err != nil {
		return err
	}
	length, err := time.ParseDuration(args[2])
	if err != nil {
		return err
	}
	o, err := s.open(ctx, environment{dir: args[1], notifyd: args[3], callers: s.callers, batch: s.batch})
	if err != nil {
		return err
	}
	m, err := measure(ctx, s, o, length)
	if err = errors.Join(err, o.close()); err != nil {
		return err
	}
	return json.NewEncoder(os.Stdout).Encode(m)
}

// errNothing says that no append ended while it was measured.
var errNothing = errors.New("nothing was acknowledged")

// tally counts appends while it is open, between the warm-up and the end.
type tally struct {
	mu      sync.Mutex
	open    atomic.Bool
	latency *hdrhistogram.Histogram // us
}

func newTally() *tally {
	return &tally{latency: hdrhistogram.New(1, 60_000_000, 3)}
}

func (t *tally) add(sent time.Time) {
	if !t.open.Load() {
		return
	}
	us := time.Since(sent).Microseconds()
	t.mu.Lock()
	t.latency.RecordValue(max(us, 1))
	t.mu.Unlock()
}

func measure(ctx context.Context, s subject, o *opened, length time.Duration) (measured, error) {
	t := newTally()
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	var wg sync.WaitGroup
	failed := make(chan error, s.callers)
	for i := range s.callers {
		wg.Go(func() {
			if err := drive(ctx, o, i, t); err != nil && ctx.Err() == nil {
				failed <- err
				cancel()
			}
		})
	}
	if o.window == nil {
		pause(ctx, warmUp)
	}
	before, begun := readAccount(o.pid), time.Now()
	t.open.Store(true)
	pause(ctx, length)
	interrupted := ctx.Err()
	if o.window != nil {
		cancel()
		wg.Wait() // what is outstanding counts, and the time that it takes
	}
	t.open.Store(false)
	after, took := readAccount(o.pid), time.Since(begun)
	cancel()
	wg.Wait()
	select {
	case err := <-failed:
		return measured{}, fmt.Errorf("appending: %w", err)
	default:
	}
	appends := t.latency.TotalCount()
	switch {
	case interrupted != nil:
		return measured{}, interrupted
	case appends == 0:
		return measured{}, fmt.Errorf("%w in %v", errNothing, length)
	}
	records := appends * int64(s.batch)
	return measured{
		Records:    records,
		PerSecond:  float64(records) / took.Seconds(),
		P50:        float64(t.latency.ValueAtQuantile(50)),
		P99:        float64(t.latency.ValueAtQuantile(99)),
		Written:    float64(after.written-before.written) / float64(records),
		Flushes:    float64(after.flushes-before.flushes) / took.Seconds(),
		PerRequest: float64(s.batch),
	}, nil
}

// drive appends until the context ends.
func drive(ctx context.Context, o *opened, i int, t *tally) error {
	if o.window != nil {
		return o.window(ctx, t.add)
	}
	appendBatch, err := o.caller(i)
	if err != nil {
		return err
	}
	for ctx.Err() == nil {
		sent := time.Now()
		if err := appendBatch(); err != nil {
			return err
		}
		t.add(sent)
	}
	return nil
}

func pause(ctx context.Context, d time.Duration) {
	select {
	case <-time.After(d):
	case <-ctx.Done():
	}
}

// records are what is appended: printable and not to be compressed, the same in every process.
func records(n, size int) [][]byte {
	const letters = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-_"
	r := rand.New(rand.NewPCG(1, 2))
	out := make([][]byte, n)
	for i := range out {
		out[i] = make([]byte, size)
		for k := range out[i] {
			out[i][k] = letters[r.IntN(len(letters))]
		}
	}
	return out
}
