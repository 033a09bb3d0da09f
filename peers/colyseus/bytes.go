package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"sync"
	"sync/atomic"
	"time"
)

const (
	hz = 30 // packets and states in a second
	// settling is the time from the last player's joining to the measurement.
	settling = time.Second
	maxBytes = 2000 // players of one run: a goroutine each sends and one receives
)

// figures are those of one player in a second.
type figures struct {
	Server  string  `json:"server"`
	Room    string  `json:"room"`
	Motion  string  `json:"motion"`
	Players int     `json:"players"`
	Seconds float64 `json:"seconds"`
	Bytes   float64 `json:"bytes_per_player_second"` // at the socket
	Frames  float64 `json:"frames_per_player_second"`
	Acked   float64 `json:"acknowledged_per_player_second"` // inputs
}

// bytes counts what players receive, and prints it as JSON.
func (o options) bytes(ctx context.Context, out io.Writer) error {
	if o.players < 1 || o.players > maxBytes || o.length <= 0 {
		return fmt.Errorf("--players %d --length %v: there are 1 to %d players, and a time above 0", o.players, o.length, maxBytes)
	}
	if o.url == "" {
		s, err := start(ctx, o.program, o.listen, o.transport)
		if err != nil {
			return err
		}
		defer s.stop()
		o.url = "http://" + s.address
	}
	f, err := o.count(ctx)
	if err != nil {
		return err
	}
	return json.NewEncoder(out).Encode(f)
}

// count lets players play.
func (o options) count(ctx context.Context) (figures, error) {
	f := figures{Server: "colyseus", Room: o.room, Motion: o.motion, Players: o.players}
	ctx, cancel := context.WithCancelCause(ctx)
	var playing sync.WaitGroup
	defer playing.Wait()
	defer cancel(nil)
	client := &http.Client{Transport: &http.Transport{MaxIdleConnsPerHost: 1}, Timeout: 10 * time.Second}
	defer client.CloseIdleConnections()
	var bytes, frames, acked atomic.Int64
	began := time.Now()
	for i := range o.players {
		next, err := motion(o.motion, i)
		if err != nil {
			return f, err
		}
		s, err := join(ctx, client, o.url, o.room)
		if err != nil {
			return f, err
		}
		playing.Go(func() {
			cancel(send(ctx, s, next, began.Add(time.Duration(i)*time.Second/hz/time.Duration(o.players))))
		})
		playing.Go(func() {
			var last uint32
			for {
				r, err := s.receive()
				if err != nil {
					cancel(err)
					return
				}
				bytes.Add(int64(r.bytes))
				frames.Add(int64(r.frames))
				acked.Add(int64(r.acked - last))
				last = r.acked
			}
		})
	}
	if err := wait(ctx, settling); err != nil {
		return f, err
	}
	bytes.Store(0)
	frames.Store(0)
	acked.Store(0)
	from := time.Now()
	if err := wait(ctx, o.length); err != nil {
		return f, err
	}
	f.Seconds = time.Since(from).Seconds()
	share := 1 / f.Seconds / float64(o.players)
	f.Bytes, f.Frames, f.Acked = float64(bytes.Load())*share, float64(frames.Load())*share, float64(acked.Load())*share
	return f, nil
}

// send sends a packet in each tick, at times that do not drift, until ctx ends; then it closes the
// session, which ends receiving.
func send(ctx context.Context, s *session, next func() commands, from time.Time) error {
	defer s.close()
	timer := time.NewTimer(0)
	defer timer.Stop()
	for tick := time.Since(from)*hz/time.Second + 1; ; tick++ {
		timer.Reset(time.Until(from.Add(tick * time.Second / hz)))
		select {
		case <-ctx.Done():
			return nil
		case <-timer.C:
		}
		if err := s.send(next()); err != nil {
			return err
		}
	}
}

// wait returns after a time, or with the error that ended ctx before.
func wait(ctx context.Context, t time.Duration) error {
	select {
	case <-ctx.Done():
		return errors.Join(errors.New("a player's connection ended"), context.Cause(ctx))
	case <-time.After(t):
		return nil
	}
}
