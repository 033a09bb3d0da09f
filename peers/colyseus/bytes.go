package main

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"sync"
	"time"

	"dyno/lab/probe/usage"
)

const (
	hz = 30 // packets and states in a second
	// settling is the time from the last player's joining to the measurement.
	settling   = time.Second
	maxPlayers = 4096 // of one run: a goroutine each sends and one receives
)

// figures are what one player gets in a second.
type figures struct {
	Server  string  `json:"server"`
	Room    string  `json:"room"`
	Motion  string  `json:"motion"`
	Players int     `json:"players"`
	Seconds float64 `json:"seconds"`
	Bytes   float64 `json:"bytes_per_player_second"` // at the socket
	Frames  float64 `json:"frames_per_player_second"`
	Acked   float64 `json:"acknowledged_per_player_second"` // inputs
	Cores   float64 `json:"cores,omitempty"`                // that the server used, in all; 0: not known
}

// bytes counts what players receive, and prints it as JSON.
func (o options) bytes(ctx context.Context, out io.Writer) error {
	if o.players < 1 || o.players > maxPlayers || o.length <= 0 {
		return fmt.Errorf("--players %d --length %v: there are 1 to %d players, and a time above 0", o.players, o.length, maxPlayers)
	}
	cpu := func() float64 { return 0 }
	if o.url == "" {
		s, err := start(ctx, o.program, o.listen, o.transport)
		if err != nil {
			return err
		}
		defer s.stop()
		o.url = "http://" + s.address
		clock := usage.NewSampler(usage.Here(), usage.Processes{PID: s.process.PID()})
		cpu = func() float64 { return clock.Read(1).CPU }
	}
	f, err := o.count(ctx, cpu)
	if err != nil {
		return err
	}
	return json.NewEncoder(out).Encode(f)
}

// count lets players play.
func (o options) count(ctx context.Context, cpu func() float64) (figures, error) {
	f := figures{Server: "colyseus", Room: o.room, Motion: o.motion, Players: o.players}
	ctx, cancel := context.WithCancelCause(ctx)
	var playing sync.WaitGroup
	defer playing.Wait()
	defer cancel(nil)
	p := &players{server: o.url, room: o.room, motion: o.motion,
		client: &http.Client{Transport: &http.Transport{MaxIdleConnsPerHost: 1}, Timeout: 10 * time.Second}}
	defer p.client.CloseIdleConnections()
	var total received
	var mu sync.Mutex // of total
	began := time.Now()
	for i := range o.players {
		s, err := p.Open(ctx, i)
		if err != nil {
			return f, err
		}
		playing.Go(func() {
			cancel(play(ctx, s, began.Add(time.Duration(i)*time.Second/hz/time.Duration(o.players)), &mu, &total))
		})
	}
	now := func() (received, float64, time.Time) {
		mu.Lock()
		defer mu.Unlock()
		return total, cpu(), time.Now()
	}
	if err := wait(ctx, settling); err != nil {
		return f, err
	}
	before, used, from := now()
	if err := wait(ctx, o.length); err != nil {
		return f, err
	}
	after, usedThen, until := now()
	f.Seconds = until.Sub(from).Seconds()
	share := 1 / f.Seconds / float64(o.players)
	f.Bytes, f.Frames = float64(after.Bytes-before.Bytes)*share, float64(after.Frames-before.Frames)*share
	f.Acked, f.Cores = float64(after.Acked-before.Acked)*share, (usedThen-used)/f.Seconds
	return f, nil
}

// play adds what a session receives to a total, and sends a packet in each tick, at times that do
// not drift, until ctx ends.
func play(ctx context.Context, s *session, from time.Time, mu *sync.Mutex, total *received) (err error) {
	ctx, cancel := context.WithCancelCause(ctx)
	defer s.Close()
	var receiving sync.WaitGroup
	defer receiving.Wait()
	defer func() { cancel(err) }()
	receiving.Go(func() {
		var acked uint64
		for {
			r, err := s.Receive(ctx)
			if err != nil {
				cancel(err)
				return
			}
			mu.Lock()
			total.Bytes += r.Bytes
			total.Frames += r.Frames
			if r.Acked > 0 {
				total.Acked += r.Acked - acked
				acked = r.Acked
			}
			mu.Unlock()
		}
	})
	timer := time.NewTimer(0)
	defer timer.Stop()
	for tick := time.Since(from)*hz/time.Second + 1; ; tick++ {
		timer.Reset(time.Until(from.Add(tick * time.Second / hz)))
		select {
		case <-ctx.Done():
			return context.Cause(ctx)
		case <-timer.C:
		}
		if err := s.Send(ctx, uint64(tick)); err != nil {
			return err
		}
	}
}

// wait returns after a time, or with the error that ended ctx before.
func wait(ctx context.Context, t time.Duration) error {
	select {
	case <-ctx.Done():
		return fmt.Errorf("a player's connection ended: %w", context.Cause(ctx))
	case <-time.After(t):
		return nil
	}
}
