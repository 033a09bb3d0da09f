package main

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"time"

	"dyno/lab/load/sessions"
	"dyno/lab/probe/usage"
	"dyno/lab/record"

	"github.com/HdrHistogram/hdrhistogram-go"
)

const (
	settling   = time.Second // between the last player's joining and the measurement
	maxPlayers = 4096
	forever    = 24 * time.Hour // the lab stops what prints windows
)

// figures are printed by bytes.
type figures struct {
	Server  string  `json:"server"`
	Room    string  `json:"room"`
	Motion  string  `json:"motion"`
	Players int64   `json:"players"`
	Seconds float64 `json:"seconds"`
	Bytes   float64 `json:"bytes_per_player_second"`  // received, at the socket
	Frames  float64 `json:"frames_per_player_second"` // that change the state
	Slowest float64 `json:"frames_per_player_second_p1"`
	Acked   float64 `json:"acknowledged_per_player_second"` // packets
	P99     float64 `json:"acknowledged_p99_ms"`            // from the time that a packet was due
	Cores   float64 `json:"cores,omitempty"`                // that the server used, in all; 0: not known
}

// config is the load, for as long as it is measured.
func (o options) config(url string, length time.Duration) (sessions.Config, func(), error) {
	if o.players < 1 || o.players > maxPlayers || o.rate < 0 || length <= 0 {
		return sessions.Config{}, nil, fmt.Errorf("-n %d --rate %v --length %v: there are 1 to %d players, and a time above 0", o.players, o.rate, length, maxPlayers)
	}
	if _, err := motion(o.motion, 0); err != nil {
		return sessions.Config{}, nil, err
	}
	client := &http.Client{Transport: &http.Transport{MaxIdleConnsPerHost: 64}}
	return sessions.Config{Name: "colyseus", URL: url, Sessions: o.players, Rate: o.rate, Warmup: settling, Length: length,
		Driver: &players{client: client, server: url, room: o.room, motion: o.motion}}, client.CloseIdleConnections, nil
}

// bots loads a server, and prints windows as other jobs do, or its result.
func (o options) bots(ctx context.Context, out io.Writer) error {
	length := o.length
	if !o.json {
		length = forever
	}
	c, done, err := o.config(o.url, length)
	if err != nil {
		return err
	}
	defer done()
	if !o.json {
		return sessions.Windows(ctx, c, out)
	}
	r, err := sessions.Run(ctx, c)
	if err != nil {
		return err
	}
	return r.WriteJSON(out)
}

// bytes loads a server of its own or another, and prints what a player receives.
func (o options) bytes(ctx context.Context, out io.Writer) error {
	url, cpu := o.url, cpuClock{}
	if url == "" {
		s, err := start(ctx, o.program, o.listen)
		if err != nil {
			return err
		}
		defer s.stop()
		url = "http://" + s.address
		cpu.sampler = usage.NewSampler(usage.Here(), usage.Processes{PID: s.process.PID()})
	}
	c, done, err := o.config(url, o.length)
	if err != nil {
		return err
	}
	defer done()
	c.Sink = &cpu
	r, err := sessions.Run(ctx, c)
	if err != nil {
		return err
	}
	s, seconds := r.Totals.Sessions, r.Length.Seconds()
	if s.Opened < s.Planned || s.Lost > 0 {
		return fmt.Errorf("of %d players %d joined, and %d were lost: %v", s.Planned, s.Opened, s.Lost, r.Totals.Errors)
	}
	return json.NewEncoder(out).Encode(figures{Server: "colyseus", Room: o.room, Motion: o.motion, Players: s.Planned, Seconds: seconds,
		Bytes: s.BytesPerS, Frames: s.FramesMean, Slowest: s.FramesP1, Acked: r.Totals.AchievedPerS / float64(s.Planned),
		P99: r.Totals.Response.P99, Cores: (cpu.last - cpu.first) / seconds})
}

// cpuClock is a sink that reads a server's CPU time at the first measured window and at the first
// one after them.
type cpuClock struct {
	sampler     *usage.Sampler // nil: it stays 0
	first, last float64        // s
}

func (c *cpuClock) Window(w record.Window, _ map[string]*hdrhistogram.Histogram) error {
	switch {
	case c.sampler == nil, w.Phase == record.PhaseWarmup:
	case c.first == 0:
		c.first = c.sampler.Read(1).CPU
	case w.Phase == record.PhaseMeasure:
		c.last = c.sampler.Read(1).CPU
	}
	return nil
}
