package generator

import (
	"cmp"
	"context"
	"crypto/tls"
	"encoding/base64"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"os"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"dyno/lab/experiment/environment"
	"dyno/lab/load"
	"dyno/lab/load/jobs"
	"dyno/lab/load/sessions"
	"dyno/lab/load/sessions/scripted"
	"dyno/lab/record"
	"dyno/lab/record/redact"
	"dyno/lab/scenario"
	"dyno/lab/workload"
	"dyno/parts/process"
)

// Sessions are the driver of a run's sessions. If a program drives them, PID is its process.
type Sessions struct {
	Driver load.Driver
	PID    int
	Close  func() // ends the program; it is called after the drive
}

// Sessions makes the driver of a run's sessions for a target that is ready, and enters their URL
// into the run.
func (b *Generator) Sessions(ctx context.Context, s *environment.Environment, v scenario.Variant, r *record.Run, p *load.Plan) (Sessions, error) {
	if b.Scenario.Load.Driver != nil {
		return b.program(ctx, s, b.Scenario.LoadOf(v), p)
	}
	l, u, err := b.load(s, v)
	if err != nil {
		return Sessions{}, err
	}
	r.Load.URL = shown(u)
	driver, err := b.script(s, l, runName(r.ID))
	if err != nil {
		return Sessions{}, &scenario.Fault{Err: fmt.Errorf("load: %w", err)}
	}
	name := "events"
	if l.Traits().Sockets {
		name = "websocket"
	}
	return Sessions{Driver: &sessions.Engine{Name: name, Driver: driver}, Close: func() {}}, nil
}

// script makes the driver that a scenario describes.
func (b *Generator) script(s *environment.Environment, l scenario.Load, run string) (sessions.Driver, error) {
	x := expander{environment: s}
	out := scripted.Script{URL: scripted.Template(l.URL), Header: x.texts("header", l.Headers), Subprotocols: l.Sessions.Open.Subprotocols, Run: run}
	for _, m := range l.Sessions.Open.Messages {
		out.Messages = append(out.Messages, x.template("open.messages", m))
	}
	if l.Sessions.Send != nil {
		out.Send = &scripted.Send{Body: x.template("send.text", l.Sessions.Send.Text), URL: x.template("send.url", l.Sessions.Send.URL),
			Method: cmp.Or(l.Sessions.Send.Method, http.MethodPost), Header: x.texts("send.headers", l.Sessions.Send.Headers)}
		if l.Sessions.Send.Base64 != "" {
			message, err := base64.StdEncoding.DecodeString(l.Sessions.Send.Base64)
			if err != nil {
				return nil, fmt.Errorf("send.base64: %w", err)
			}
			out.Send.Binary, out.Send.Body = true, scripted.Template(strings.ReplaceAll(string(message), "$", "$$"))
		}
		if err := b.permitBeside(out.Send); err != nil {
			return nil, err
		}
	}
	out.Frames = scripted.Match{Contains: l.Sessions.Expect.Frames.Contains, Matches: x.pattern(l.Sessions.Expect.Frames.Matches)}
	if a := l.Sessions.Expect.Ack; a != nil {
		out.Ack = scripted.Ack{Any: a.Any, Matches: x.pattern(a.Matches)}
		if a.JSON != "" {
			out.Ack.JSON = strings.Split(a.JSON, ".")
		}
	}
	if b.rows != nil {
		out.Row, out.Rows, out.Once = b.rows.Value, b.rows.Len(), l.Once
	}
	if strings.HasPrefix(l.URL, "wss:") || strings.HasPrefix(l.URL, "https:") {
		settings := b.tls()
		out.TLS = func(host string) (*tls.Config, error) { return settings.Config(host, false) }
	}
	if x.err != nil {
		return nil, x.err
	}
	return scripted.New(out)
}

// permitBeside returns an error if requests beside a stream may not be sent to their host.
func (b *Generator) permitBeside(s *scripted.Send) error {
	if s.URL == "" {
		return nil
	}
	u, err := url.Parse(string(s.URL))
	if err != nil || u.Hostname() == "" || strings.Contains(u.Host, "${") {
		return fmt.Errorf("send.url %q is not a URL with a host", redact.URL(string(s.URL)))
	}
	return b.Permitted(string(s.URL))
}

// expander resolves the placeholders of a scenario's texts and keeps the first error.
type expander struct {
	environment *environment.Environment
	later       []string // placeholders that the load fills in, besides those of every load
	err         error
}

// text keeps the placeholders of the load, and each $$, for the load's own template.
func (x *expander) text(what, text string) string {
	tokens, err := workload.Tokens(text)
	var out strings.Builder
	for _, t := range tokens {
		part := t.Text
		if part != "$$" && !slices.Contains(x.later, t.Name) && err == nil {
			part, err = x.environment.Expand(what, part)
		}
		out.WriteString(part)
	}
	if x.err == nil {
		x.err = err
	}
	return out.String()
}

func (x *expander) template(what, text string) scripted.Template {
	return scripted.Template(x.text(what, text))
}

func (x *expander) texts(what string, of map[string]string) map[string]scripted.Template {
	out := map[string]scripted.Template{}
	for name, value := range of {
		out[name] = x.template(what+" "+name, value)
	}
	return out
}

// pattern compiles a regular expression; nil: there is none.
func (x *expander) pattern(text string) *regexp.Regexp {
	if text == "" {
		return nil
	}
	re, err := regexp.Compile(text)
	if x.err == nil {
		x.err = err
	}
	return re
}

// program starts the program that drives the sessions. It may begin immediately: its output waits
// in the pipe until the plan's driver reads it.
func (b *Generator) program(ctx context.Context, s *environment.Environment, l scenario.Load, p *load.Plan) (Sessions, error) {
	fields := map[string]string{"sessions": strconv.Itoa(p.Connections), "rate": strconv.FormatFloat(l.Sessions.PerSession, 'g', -1, 64),
		"duration": p.Length.String(), "warmup": p.Warmup.String()}
	command := b.Programs.Command(l.Driver.Build, l.Driver.Command, l.Driver.Args)
	for i, word := range command {
		var err error
		if command[i], err = s.With("load.driver", word, fields); err != nil {
			return Sessions{}, &scenario.Fault{Err: err}
		}
	}
	if command[0] == "dyno" { // this program, wherever it is
		self, err := os.Executable()
		if err != nil {
			return Sessions{}, fmt.Errorf("starting load.driver: %w", err)
		}
		command[0] = self
	}
	out, in := io.Pipe()
	stop := context.AfterFunc(ctx, func() { out.CloseWithError(ctx.Err()) }) // before the drive, there is no reader yet
	child, err := environment.Start(ctx, process.Spec{Name: "driver", Command: command, Stdout: in})
	if err != nil {
		stop()
		return Sessions{}, fmt.Errorf("starting load.driver: %w", err)
	}
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		<-child.Exited()
		in.CloseWithError(child.Err()) // it shows the end of its log
	}()
	return Sessions{Driver: jobs.New("driver", out), PID: child.PID(), Close: func() {
		stop()
		out.Close() // later output is discarded, so that it does not block
		child.Stop(environment.Grace)
		<-ended
	}}, nil
}
