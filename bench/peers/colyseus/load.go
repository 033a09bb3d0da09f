package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"

	"dyno/bench/bots/player"
	"dyno/lab/load/sessions"
	"dyno/lab/probe/usage"
	"dyno/lab/record"

	"github.com/HdrHistogram/hdrhistogram-go"
)

// Services that bots play.
const (
	colyseus = "colyseus"
	arenad   = "arenad"
)

const maxPlayers = 10_000

// load returns the run of the bots, and what frees its connections.
func (o options) load() (c sessions.Config, done func(), err error) {
	if o.players < 1 || o.players > maxPlayers || o.rate <= 0 || o.duration <= 0 || o.warmup < 0 {
		return c, nil, fmt.Errorf("-n %d --rate %v --warmup %v --duration %v: there are 1 to %d players, and a rate and a time above 0",
			o.players, o.rate, o.warmup, o.duration, maxPlayers)
	}
	c = sessions.Config{Name: o.service, URL: o.url, Sessions: o.players, Rate: o.rate, Warmup: o.warmup, Length: o.duration}
	switch o.service {
	case arenad:
		c.Driver, err = player.New(player.Options{URL: o.url, Motion: o.motion, Subprotocol: o.subprotocol, Rate: o.rate})
		return c, func() {}, err
	case colyseus:
		client := &http.Client{Transport: &http.Transport{MaxIdleConnsPerHost: 64}}
		c.Driver = &players{client: client, server: o.url, room: o.room, motion: o.motion, rate: o.rate}
		_, err = player.NewMotion(o.motion, o.rate, 0)
		return c, client.CloseIdleConnections, err
	}
	return c, nil, fmt.Errorf("--service %s: there are %s and %s", o.service, colyseus, arenad)
}

func (o options) bots(ctx context.Context, out io.Writer) error {
	c, done, err := o.load()
	if err != nil {
		return err
	}
	defer done()
	if o.windows {
		return sessions.Windows(ctx, c, out)
	}
	r, err := sessions.Run(ctx, c)
	if err != nil {
		return err
	}
	return r.WriteJSON(out)
}

// figures are printed of each server by bytes.
type figures struct {
	Server  string  `json:"server"`
	Form    string  `json:"form"` // the room, or the subprotocol
	Motion  string  `json:"motion"`
	Players int64   `json:"players"`
	Seconds float64 `json:"seconds"`
	Bytes   float64 `json:"bytes_per_player_second"` // received, at the socket
	Frames  float64 `json:"frames_per_player_second"`
	Slowest float64 `json:"frames_per_player_second_p1"`
	Acked   float64 `json:"acknowledged_per_player_second"` // packets
	P99     float64 `json:"acknowledged_p99_ms"`            // from the time that a packet was due
	Cores   float64 `json:"cores"`                          // that the server used, in all; 0: not known
}

// bytes measures one server after the other.
func (o options) bytes(ctx context.Context, out io.Writer) error {
	for _, service := range []string{colyseus, arenad} {
		if service == arenad && o.arenad == "" {
			continue
		}
		o.service = service
		f, err := o.measure(ctx)
		if err == nil {
			err = json.NewEncoder(out).Encode(f)
		}
		if err != nil {
			return fmt.Errorf("%s: %w", service, err)
		}
	}
	return nil
}

// measure starts a server and plays.
func (o options) measure(ctx context.Context) (figures, error) {
	s, err := o.start(ctx)
	if err != nil {
		return figures{}, err
	}
	defer s.stop()
	o.url = "http://" + s.address
	cpu := cpuClock{sampler: usage.NewSampler(usage.Here(), usage.Processes{PID: s.process.PID()})}
	return o.play(ctx, &cpu)
}

func (o options) play(ctx context.Context, cpu *cpuClock) (figures, error) {
	c, done, err := o.load()
	if err != nil {
		return figures{}, err
	}
	defer done()
	c.Sink = cpu
	r, err := sessions.Run(ctx, c)
	if err != nil {
		return figures{}, err
	}
	s, seconds := r.Totals.Sessions, r.Length.Seconds()
	if s == nil || s.Opened < s.Planned || s.Lost > 0 {
		return figures{}, fmt.Errorf("some of the %d players did not join, or were lost: %+v, errors: %v", o.players, s, r.Totals.Errors)
	}
	form := o.room
	if o.service == arenad {
		form = o.subprotocol
	}
	return figures{Server: o.service, Form: form, Motion: o.motion, Players: s.Planned, Seconds: seconds,
		Bytes: s.BytesPerS, Frames: s.FramesMean, Slowest: s.FramesP1, Acked: float64(r.Totals.Completed) / seconds / float64(s.Planned),
		P99: r.Totals.Response.P99, Cores: (cpu.last - cpu.first) / seconds}, nil
}

// start starts the service that is measured.
func (o options) start(ctx context.Context) (*server, error) {
	if o.service == colyseus {
		return start(ctx, o.program, "127.0.0.1:0")
	}
	scratch, err := os.MkdirTemp("", "arenad-")
	if err != nil {
		return nil, err
	}
	s, err := startArenad(ctx, o.arenad, scratch)
	if err != nil {
		return nil, errors.Join(err, os.RemoveAll(scratch))
	}
	return s, nil
}

// cpuClock is a sink that reads a server's CPU time at the first measured window and at the last.
type cpuClock struct {
	sampler     *usage.Sampler
	first, last float64 // s
}

func (c *cpuClock) Window(w record.Window, _ map[string]*hdrhistogram.Histogram) error {
	if c.sampler == nil || w.Phase != record.PhaseMeasure {
		return nil
	}
	c.last = c.sampler.Read(1).CPU
	if c.first == 0 {
		c.first = c.last
	}
	return nil
}
