package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"time"

	"dyno/lab/compare"
	"dyno/lab/load/websocket"
	"dyno/lab/probe/usage"
	"dyno/parts/process"
)

// Bounds of a comparison.
const (
	maxConnections = 4096
	maxMessages    = 1 << 20
	maxBlocks      = 1000
)

// ping is arenad's ClientFrame with a Ping in it, whose client_ms is about now; to the others it is
// any nine bytes.
var ping = []byte{0x1a, 0x07, 0x08, 0x80, 0xd0, 0x95, 0xff, 0xbc, 0x33}

// subprotocol is arenad's in which every message is Protobuf.
const subprotocol = "arena.v1.proto"

// line is what is printed of a server.
type line struct {
	Server   string  `json:"server"`
	CPU      float64 `json:"cpu_us_per_message"`  // median of its turns
	Messages float64 `json:"messages_per_second"` // median of its turns
	Beside   *ratio  `json:"beside_gws,omitempty"`
}

// ratio is of CPU to the first server.
type ratio struct {
	Ratio    float64     `json:"ratio"`
	Interval *[2]float64 `json:"interval"`
	Verdict  string      `json:"verdict"`
}

// compare measures the servers in turns.
func (o options) compare(ctx context.Context, out io.Writer) error {
	if o.rate < 0 || o.connections < 1 || o.connections > maxConnections || o.messages < 1 || o.messages > maxMessages || o.blocks < 1 || o.blocks > maxBlocks {
		return fmt.Errorf("--rate %v --connections %d --messages %d --blocks %d: at least 0 and 1, and at most %d, %d and %d",
			o.rate, o.connections, o.messages, o.blocks, maxConnections, maxMessages, maxBlocks)
	}
	specs, err := o.specs()
	if err != nil {
		return err
	}
	var subjects []*subject
	for _, spec := range specs {
		s, err := start(ctx, spec, o.connections)
		if err != nil {
			return err
		}
		defer s.stop()
		subjects = append(subjects, s)
	}
	for block := range o.blocks + 1 {
		for _, i := range rand.Perm(len(subjects)) {
			if err := subjects[i].turn(ctx, o, block > 0); err != nil {
				return fmt.Errorf("%s: %w", subjects[i].name, err)
			}
		}
	}
	for _, s := range subjects {
		l := line{Server: s.name, CPU: median(s.cpu), Messages: median(s.rate)}
		if s != subjects[0] {
			c := compare.Ratio(compare.MetricCPU, subjects[0].cpu, s.cpu)
			l.Beside = &ratio{c.Ratio, c.Interval, c.Verdict}
		}
		if err := json.NewEncoder(out).Encode(l); err != nil {
			return err
		}
	}
	return nil
}

// specs are the servers' processes, the first of which is what the others are compared with.
func (o options) specs() ([]process.Spec, error) {
	self, err := os.Executable()
	if err != nil {
		return nil, err
	}
	var specs []process.Spec
	for _, library := range []string{"gws", "gorilla", "frames"} {
		specs = append(specs, process.Spec{Name: library, Command: []string{self, "serve", "--library", library}, ReadyLine: true})
	}
	for _, command := range o.also {
		fields := strings.Fields(command)
		if len(fields) == 0 {
			return nil, errors.New("--also: give a program and its arguments")
		}
		specs = append(specs, process.Spec{Name: filepath.Base(fields[0]), Command: fields, ReadyLine: true})
	}
	return specs, nil
}

func median(values []float64) float64 {
	sorted := slices.Sorted(slices.Values(values))
	return (sorted[(len(sorted)-1)/2] + sorted[len(sorted)/2]) / 2
}

// subject is a server that runs, with its connections.
type subject struct {
	name      string
	process   *process.Process
	clock     *usage.Sampler
	conns     []*websocket.Conn
	cpu, rate []float64 // of each turn: us a message, messages a second
}

func start(ctx context.Context, spec process.Spec, connections int) (*subject, error) {
	p, err := process.Start(ctx, spec)
	if err != nil {
		return nil, err
	}
	s := &subject{name: spec.Name, process: p, clock: usage.NewSampler(usage.Here(), usage.Processes{PID: p.PID()})}
	u := &url.URL{Scheme: "ws", Host: p.Ready()["listen"], Path: "/ws"}
	for range connections {
		c, err := websocket.Dial(ctx, u, http.Header{"Sec-Websocket-Protocol": {subprotocol}}, nil, longest)
		if err != nil {
			s.stop()
			return nil, err
		}
		s.conns = append(s.conns, c)
	}
	return s, nil
}

func (s *subject) stop() {
	for _, c := range s.conns {
		c.Close()
	}
	s.process.Stop(2 * time.Second)
}

// turn sends messages on all connections, each after the answer to the one before.
func (s *subject) turn(ctx context.Context, o options, counts bool) error {
	defer context.AfterFunc(ctx, func() {
		for _, c := range s.conns {
			c.Close()
		}
	})()
	before, began := s.clock.Read(1).CPU, time.Now()
	errs := make([]error, len(s.conns))
	var working sync.WaitGroup
	for i, c := range s.conns {
		working.Go(func() {
			for n := 0; n < o.messages && errs[i] == nil; n++ {
				if o.rate > 0 { // connections are spread over the time from one message to the next
					due := (float64(n) + float64(i)/float64(len(s.conns))) / o.rate
					time.Sleep(time.Until(began.Add(time.Duration(due * float64(time.Second)))))
				}
				errs[i] = call(c)
			}
		})
	}
	working.Wait()
	took, used := time.Since(began), s.clock.Read(1).CPU-before
	if err := errors.Join(errs...); err != nil || !counts {
		return err
	}
	if used <= 0 {
		return errors.New("its CPU time cannot be read: this measures on Linux")
	}
	n := float64(o.messages * len(s.conns))
	s.cpu, s.rate = append(s.cpu, used*1e6/n), append(s.rate, n/took.Seconds())
	return nil
}

func call(c *websocket.Conn) error {
	c.QueueBinary(ping)
	if err := c.Flush(); err != nil {
		return err
	}
	_, err := c.Receive()
	return err
}
