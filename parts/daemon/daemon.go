// Package daemon is what every service offers its user and the lab: settings, flags, configuration, assemblies, a ready
// line, the debug address, metrics, draining, exit codes. The command line around it is cmd/service.
//
// It is not a framework for handlers: what a service serves, and how, is the service's own.
//
// Run, Task.Run and Interruptible own every goroutine that the package starts (the two HTTP servers, the one that waits for signals, the
// one that runs a job or a command, the one that exports traces) and wait for them before they return, but for one that
// is stuck and ends with the process; the service owns its own and ends them in Drain.
package daemon

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"strings"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/spf13/pflag"

	"dyno/agent"
	"dyno/parts/guard"
	"dyno/parts/lameduck"
	"dyno/parts/tracing"
)

// Service describes a command.
type Service struct {
	Name    string // of the command; environment variables are NAME_FLAG in capitals
	Short   string // one line
	Long    string
	Example string
	Listen  string // default public address; "": 127.0.0.1:8080

	// Protocols says which of HTTP's versions what serves Env.Listen under this choice speaks over TLS, as
	// ALPN names them. Nil: h2 and http/1.1, as net/http does.
	Protocols func(Choice) []string

	Assembly Assembly
	Data     *DataFolder // nil: the service keeps no state on disk and has no --data
	Jobs     []Job       // subcommands that run to their end under the same contract (import, sync)

	// Flags declares what serve takes beyond the contract's flags. They too can be given in the environment
	// and in the file, and are set when Start is called. Nil: nothing.
	Flags func(*pflag.FlagSet)

	// Start brings the service up and returns when it can be used. ctx is cancelled when the process is
	// told to stop meanwhile; it is not for what goes on after Start has returned.
	Start func(ctx context.Context, env *Env) (Running, error)
}

// Env is what a service is started with, or a job.
type Env struct {
	// Listen is the public address, bound, behind TLS when that was asked for; a job has none. Connections is what lies
	// below TLS, for a Front.
	Listen      net.Listener
	Connections *lameduck.Listener

	Debug  *http.ServeMux // of the debug address, for a service's own pages; guarded against strangers as a whole
	Agent  *agent.Agent   // for gauges
	Data   string         // the data folder, locked; "" when the service has none
	Choice Choice         // the assembly

	// ReadTimeout is within which a request is to arrive whole (--read-timeout), for a service that serves
	// Listen itself or has its answers taken as fast.
	ReadTimeout time.Duration

	// Stdout is a job's own. Of a service it is not: there it has the ready line and nothing else.
	// Stderr is shared with Log.
	Stdout, Stderr io.Writer

	// Guard says what to refuse of what other sites' pages make browsers send to Listen, for a service that serves
	// that itself: Handler and the debug address are behind it already.
	Guard *guard.Guard

	Log     *slog.Logger
	Metrics *prometheus.Registry

	// Tracer is for spans within requests and beyond them; nil without --otlp, and then a service is to do
	// without. Requests to Handler are spans by themselves, and what is logged with their context has
	// their trace_id.
	Tracer *tracing.Tracer

	// Draining is closed when the process stops accepting, after its time as a lame duck: for streams that would
	// otherwise never end.
	Draining <-chan struct{}

	// Fail stops the process in good order and makes it exit with 1: for what the service finds out
	// after Start and cannot mend (its disk is gone). Only the first call counts.
	Fail func(error)
}

// Running is a service that has been started.
type Running struct {
	// Handler is served on Env.Listen, and on draining its requests are waited for before Drain is called.
	// A request is to arrive within --read-timeout, and after that net/http cancels its context; a handler that
	// streams for longer first takes that off with http.ResponseController.SetReadDeadline(time.Time{}).
	// Nil: the service serves Env.Listen itself.
	Handler http.Handler

	// Refuse answers what the guard before Handler refuses. Nil: it is {"error":TEXT}.
	Refuse guard.Refuse
	// Front is what serves Env.Listen by itself where Handler is nil. Beside a Handler it accepts the connections of
	// Env.Listen and hands over to Handler those that it does not serve (lameduck.Listener.HandOver); both are drained
	// concurrently. Nil beside a nil
	// Handler: the service closes Env.Listen first thing in Drain, and loses what is on its way then.
	Front Front

	// WriteTimeout is within which a client is to take an answer of Handler, from when its request was read on.
	// 0: it may take its time, as one that follows a stream does.
	WriteTimeout time.Duration

	// Ready says why /readyz is to answer 503 although the service has started: what it cannot do without is
	// away. It is asked for each request and gets readyTimeout. Nil: it is ready.
	Ready func(ctx context.Context) error

	// Drain finishes what was acknowledged and lets go of everything. It returns early with an error when
	// ctx ends (--drain-timeout). Nil: there is nothing to finish.
	Drain func(ctx context.Context) error
}

// Front serves an HTTP listener and ends it without losing a request, as lameduck.Server does.
type Front interface {
	// LameDuck is called when the process receives SIGTERM or SIGINT. The front goes on accepting and answering, and each answer
	// that it begins from now on says Connection: close.
	LameDuck()

	// Drain is called when the time as a lame duck (--lame-duck) is over, and before Running.Drain. The front accepts
	// what the kernel has queued and closes the listener (lameduck.Listener.Seal, or SealSocket for one that accepts by
	// itself), answers all requests that have arrived, and closes connections on which nothing has happened for a
	// while. What is left when ctx ends is cut off, which is an error.
	Drain(ctx context.Context) error
}

// Exit codes.
const (
	exitOK     = 0
	exitFailed = 1
	exitUsage  = 2 // flags and configuration
)

// usageError marks what the user can mend on the command line or in the configuration.
type usageError struct{ error }

func (e usageError) Unwrap() error { return e.error }

// Usage marks an error of Start or of a subcommand as one that the user mends on the command line or in
// the configuration: the exit code is 2 instead of 1. Nil stays nil.
func Usage(err error) error {
	if err == nil {
		return nil
	}
	return usageError{err}
}

// ExitCode prints an error on stderr, in one line, and returns the exit code for it.
func ExitCode(service string, err error, stderr io.Writer) int {
	if err == nil {
		return exitOK
	}
	fmt.Fprintf(stderr, "%s: %s\n", service, oneLine(err))
	if errors.As(err, new(usageError)) {
		return exitUsage
	}
	return exitFailed
}

// Check finds mistakes in the declaration.
func (s Service) Check() error {
	if s.Name == "" || s.Start == nil {
		return errors.New("the service declares no Name or no Start")
	}
	if s.Data != nil && s.Data.Format < 1 {
		return errors.New("the data folder declares no Format; it counts from 1")
	}
	if err := s.checkJobs(); err != nil {
		return err
	}
	return s.Assembly.Check()
}

// oneLine gives an error as one line, whatever was wrapped in it.
func oneLine(err error) string {
	return strings.Join(strings.FieldsFunc(err.Error(), func(r rune) bool { return r == '\n' || r == '\r' }), "; ")
}
