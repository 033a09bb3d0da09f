// Package daemon runs a service or one of its jobs as a process, under the contract that every
// service has with its users and the lab: flags, a ready line, the debug address, metrics, draining
// at a signal, exit codes. Package command adds the command line.
//
// It is not a framework for handlers: the service decides what it serves and how. What the service
// is made of is declared with package assembly.
//
// Run, Task.Run and Interruptible own every goroutine that the package starts (the two HTTP
// servers, the one that waits for signals, the one that runs a job or a command, the one that
// exports traces, those that read the figures of a debug page and of --flight-recorder) and wait for them before they
// return, except one that is stuck and ends with the process. The service owns its own goroutines and ends them in Drain.
package daemon

import (
	"context"
	"crypto/tls"
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
	"dyno/parts/assembly"
	"dyno/parts/datadir"
	"dyno/parts/debugpage"
	"dyno/parts/guard"
	"dyno/parts/lameduck"
	"dyno/parts/redact"
	"dyno/parts/tracing"
)

// Service describes a command.
type Service struct {
	Name    string // of the command; environment variables are NAME_FLAG in capitals
	Short   string // one line
	Long    string
	Example string
	Listen  string // default public address; "": 127.0.0.1:8080

	// Protocols returns the HTTP versions that the server of Env.Listen supports over TLS under this
	// choice, by their ALPN names. Nil means h2 and http/1.1, as in net/http.
	Protocols func(assembly.Choice) []string

	Assembly assembly.Parts
	Data     *datadir.Folder // nil: the service keeps no state on disk and has no --data
	Jobs     []Job           // subcommands that run to their end under the same contract (import, sync)

	// Flags declares the flags of serve beyond those of the contract. The environment and the file can
	// set them too; they are set when Start is called. Nil means none.
	Flags func(*pflag.FlagSet)

	// Doors are the names of flags in place of allow-origin and allow-host, for a service that guards
	// its Handler itself, with Env.Guard and Env.Sockets. Nil means that Handler is behind a guard.
	Doors *Doors

	// Extensions lets browser extensions call the public address, whichever origins are listed: for a
	// service whose clients wallets are.
	Extensions bool

	// Start starts the service and returns when it is usable. ctx is cancelled if the process receives
	// a signal to stop meanwhile; it is not for work that continues after Start has returned.
	// Nil: there is no serve, only Jobs.
	Start func(ctx context.Context, env *Env) (Running, error)
}

// Doors are names of flags, each for a list of what may call the public address. Without Origins or
// Sockets, pages of loopback addresses may.
type Doors struct {
	Hosts   string // names by which clients call; "*": any
	Origins string // pages that may send requests; "*": any
	Sockets string // pages that may open WebSockets
}

// Env is what a service is started with, or a job.
type Env struct {
	// Listen is the public address, bound, behind TLS if configured; nil for a job. Connections is the
	// listener below TLS, and TLS the configuration, for a Front; nil means no TLS.
	Listen      net.Listener
	Connections *lameduck.Listener
	TLS         *tls.Config

	Debug  *http.ServeMux // of the debug address, for a service's own pages; guarded against strangers as a whole
	Agent  *agent.Agent   // for gauges
	Data   string         // the data folder, locked; "" when the service has none
	Choice assembly.Choice

	// ReadTimeout is the time limit for a client to send a whole request (--read-timeout), for a
	// service that serves Listen itself. Such a service may apply it to reading answers too.
	ReadTimeout time.Duration

	// Stdout is a job's own. Of a service it is not: there it has the ready line and nothing else.
	// Stderr is shared with Log.
	Stdout, Stderr io.Writer

	// Guard refuses requests that other sites' pages make browsers send to Listen, for a service that
	// serves Listen itself: Handler and the debug address are behind it already.
	Guard *guard.Guard
	// Sockets does so for requests that open a WebSocket, for a service with Doors.
	Sockets *guard.Guard

	Log     *slog.Logger
	Metrics *prometheus.Registry // the service's own

	keep  func(*debugpage.Recent) // runs it until the process ends; nil: nothing does
	watch func(histogram string)  // nil: without --flight-recorder

	// Tracer is for spans within requests and outside of them; nil without --otlp, which the service
	// must support. A request to Handler has a span; log lines with its context have its trace_id.
	Tracer *tracing.Tracer

	// Draining is closed when the process stops accepting, after its time as a lame duck: for streams
	// that would otherwise never end.
	Draining <-chan struct{}

	// Fail stops the process in good order and makes it exit with 1: for failures after Start that the
	// service cannot recover from (its disk is gone). Only the first call counts.
	Fail func(error)
}

// Running is a service that has been started.
type Running struct {
	// Handler is served on Env.Listen; when the process drains, its requests are waited for before
	// Drain is called. A request must arrive within --read-timeout; after that net/http cancels its
	// context. A handler that streams for longer first removes that limit with
	// http.ResponseController.SetReadDeadline(time.Time{}). Nil: the service serves Env.Listen itself.
	Handler http.Handler

	// Refuse answers what the guard before Handler refuses. Nil: it is {"error":TEXT}.
	Refuse guard.Refuse
	// Front serves Env.Listen alone if Handler is nil. Beside a Handler it accepts the connections of
	// Env.Listen and hands over to Handler those that it does not serve (lameduck.Listener.HandOver);
	// both drain concurrently. If both are nil, the service must close Env.Listen first in Drain, and
	// loses connections that arrive then.
	Front Front

	// WriteTimeout is the time limit for a client to read an answer of Handler, from when its request
	// was read. Zero means no limit, as for a client that follows a stream.
	WriteTimeout time.Duration

	// Ready returns why /readyz must answer 503 although the service has started: a dependency is
	// unavailable. It is called for each request, within readyTimeout. Nil means always ready.
	Ready func(ctx context.Context) error

	// Drain finishes acknowledged work and releases everything. It returns early with an error when
	// ctx ends (--drain-timeout). Nil: there is no work to finish.
	Drain func(ctx context.Context) error
}

// Front serves an HTTP listener and ends it without losing a request, as lameduck.Server does.
type Front interface {
	// LameDuck is called when the process receives SIGTERM or SIGINT. The front continues to accept
	// and answer, and each answer that it begins from now on says Connection: close.
	LameDuck()

	// Drain is called when the time as a lame duck (--lame-duck) is over, and before Running.Drain.
	// The front accepts the connections that the kernel has queued and closes the listener
	// (lameduck.Listener.Seal, or SealSocket for a front with its own accept loop), answers all
	// requests that have arrived, and closes connections that have been idle for a while. Connections
	// that remain when ctx ends are cut off, which is an error. A Drain that lasts longer still is left
	// behind: Running.Drain is called, and the process ends.
	Drain(ctx context.Context) error
}

// Exit codes.
const (
	exitOK     = 0
	exitFailed = 1
	exitUsage  = 2 // flags and configuration
)

// usageError marks an error that the user can fix on the command line or in the configuration.
type usageError struct{ error }

func (e usageError) Unwrap() error { return e.error }

// Usage marks an error of Start or of a subcommand as one that the user can fix on the command line
// or in the configuration: the exit code is 2 instead of 1. Nil stays nil.
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
	if s.Name == "" || s.Start == nil && len(s.Jobs) == 0 {
		return errors.New("the service declares no Name, or neither Start nor Jobs")
	}
	if s.Data != nil && s.Data.Format < 1 {
		return errors.New("the data folder declares no Format; it counts from 1")
	}
	if err := s.checkJobs(); err != nil {
		return err
	}
	return s.Assembly.Check()
}

// oneLine gives an error as one line, whatever was wrapped in it, without the secrets of URLs.
func oneLine(err error) string {
	return redact.Text(strings.Join(strings.FieldsFunc(err.Error(), func(r rune) bool { return r == '\n' || r == '\r' }), "; "))
}
