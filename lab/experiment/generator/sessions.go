package generator

import (
	"context"
	"fmt"
	"io"
	"net/url"
	"os"
	"strconv"
	"strings"

	"dyno/lab/experiment/environment"
	"dyno/lab/load"
	"dyno/lab/load/engine"
	"dyno/lab/load/windows"
	"dyno/lab/record"
	"dyno/lab/record/redact"
	"dyno/lab/scenario"
	"dyno/lab/workload"
	"dyno/parts/process"
)

// Sessions holds the driver of a run's sessions. If a program drives them, PID is its process.
type Sessions struct {
	Driver load.Driver
	PID    int
	Close  func() // ends the program; it is called after the drive
}

// Sessions makes the driver of a run's sessions, for a target that is ready, and stores their URL
// in the run.
func (b *Generator) Sessions(ctx context.Context, s *environment.Testbed, v scenario.Variant, r *record.Run, p *load.Plan) (Sessions, error) {
	if b.Scenario.Load.Driver != nil {
		return b.program(ctx, s, b.Scenario.LoadOf(v), p)
	}
	l, u, err := b.load(s, v)
	if err != nil {
		return Sessions{}, err
	}
	r.Load.URL = shown(u)
	spec, err := b.spec(s, l, runName(r.ID), 0)
	if err == nil {
		err = b.permitSend(spec.Load.Sessions.Send)
	}
	if err != nil {
		return Sessions{}, &scenario.Fault{Err: fmt.Errorf("load: %w", err)}
	}
	out := Sessions{Close: func() {}}
	if b.Agents != nil {
		out.Driver, err = b.Agents.Driver(spec)
	} else {
		out.Driver, _, err = engine.New(spec)
	}
	if err != nil {
		return Sessions{}, &scenario.Fault{Err: fmt.Errorf("load: %w", err)}
	}
	return out, nil
}

// permitSend returns an error if a session's messages may not be sent to their host.
func (b *Generator) permitSend(s *workload.Send) error {
	if s == nil || s.URL == "" {
		return nil
	}
	u, err := url.Parse(s.URL)
	if err != nil || u.Hostname() == "" || strings.Contains(u.Host, "${") {
		return fmt.Errorf("send.url %q is not a URL with a host", redact.URL(s.URL))
	}
	return b.Permitted(s.URL)
}

// program starts the program that drives the sessions. The program may begin immediately: its
// output waits in the pipe until the plan's driver reads it.
func (b *Generator) program(ctx context.Context, s *environment.Testbed, l scenario.Load, p *load.Plan) (Sessions, error) {
	fields := map[string]string{"sessions": strconv.Itoa(p.Connections), "rate": strconv.FormatFloat(l.Sessions.PerSession, 'g', -1, 64),
		"duration": p.Length.String(), "warmup": p.Warmup.String()}
	command := b.Programs.Command(l.Driver.Build, l.Driver.Command, l.Driver.Args)
	for i, word := range command {
		var err error
		if command[i], err = s.With("load.driver", word, fields); err != nil {
			return Sessions{}, &scenario.Fault{Err: err}
		}
	}
	if command[0] == "dyno" { // the running program, wherever its file is
		self, err := os.Executable()
		if err != nil {
			return Sessions{}, fmt.Errorf("starting load.driver: %w", err)
		}
		command[0] = self
	}
	out, in := io.Pipe()
	stop := context.AfterFunc(ctx, func() { out.CloseWithError(ctx.Err()) }) // until the drive begins, nothing else ends a blocked write
	child, err := environment.Start(ctx, process.Spec{Name: "driver", Command: command, Stdout: in})
	if err != nil {
		stop()
		return Sessions{}, fmt.Errorf("starting load.driver: %w", err)
	}
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		<-child.Exited()
		in.CloseWithError(child.Err()) // the error shows the end of the program's log
	}()
	return Sessions{Driver: windows.New("driver", out), PID: child.PID(), Close: func() {
		stop()
		out.Close() // later output is discarded, so that it does not block
		child.Stop(environment.Grace)
		<-ended
	}}, nil
}
