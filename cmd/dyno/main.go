// Command dyno measures Go network services: it drives a service to its capacity under an SLO,
// observes the process meanwhile, and reports with a confidence interval whether a change made it
// faster. This package only connects others: it reads flags, passes a scenario to lab/experiment
// and the result to lab/report. Package request makes the scenario that flags describe, and
// package usage explains mistakes on a command line.
package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/signal"
	"syscall"

	"dyno/cmd/dyno/revisions"
	"dyno/cmd/dyno/usage"
	"dyno/cmd/dyno/windows"
	"dyno/lab/experiment"
	"dyno/lab/load"
	"dyno/lab/record/redact"
	"dyno/lab/report/screen"
	"dyno/parts/manual"

	"github.com/spf13/cobra"
)

// Exit codes, as docs/reference/commands.md lists them.
const (
	exitFailed  = 1
	exitUsage   = 2
	exitMissed  = 3 // the gate or the SLO was missed, or no request succeeded
	exitInvalid = 4 // the run is invalid; the reason was printed
)

// exit is an error with its exit code. err is nil if the command has already printed its message.
type exit struct {
	code int
	err  error
}

func (e *exit) Error() string {
	if e.err == nil {
		return fmt.Sprintf("exit code %d", e.code)
	}
	return e.err.Error()
}
func (e *exit) Unwrap() error { return e.err }

func main() { os.Exit(command()) }

// command carries out the command line of this process and returns its exit code.
func command() int {
	load.SpareProcs()
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	context.AfterFunc(ctx, stop) // a second signal then ends the process immediately, and the reaper stops the processes that remain
	return run(ctx, os.Args[1:])
}

// run carries out one command line and returns its exit code. It prints an error as one line on
// stderr and, with --json, as an object on stdout.
func run(ctx context.Context, args []string) int {
	root := newRoot()
	root.SetArgs(args)
	stdout := &counter{w: os.Stdout}
	root.SetOut(screen.New(stdout))
	stderr := screen.New(os.Stderr)
	root.SetErr(stderr)
	cmd, err := root.ExecuteContextC(usage.WithLine(ctx, args))
	if err == nil {
		err = stdout.err // commands such as help ignore errors of writing
	}
	if err == nil {
		return 0
	}
	code, reason := judge(err)
	if reason != nil {
		fmt.Fprintln(stderr, "dyno:", redact.Text(reason.Error()))
		printFailure(stdout, cmd, args, reason)
	}
	return code
}

// errInterrupted is the error of an interrupted command.
var errInterrupted = errors.New("interrupted; the results until then were kept, and no process was left behind")

// judge returns the exit code for an error, and the message to print; a nil message was printed
// already.
func judge(err error) (code int, reason error) {
	var (
		e     *exit
		wrong *usage.Error
	)
	switch {
	case errors.As(err, &e):
		return e.code, e.err
	case errors.As(err, &wrong):
		return exitUsage, wrong
	case errors.Is(err, context.Canceled):
		return exitFailed, errInterrupted
	case errors.Is(err, experiment.ErrNoSuccess):
		return exitMissed, err
	case errors.Is(err, revisions.ErrNotFound), errors.Is(err, errMissed):
		return exitMissed, nil
	case usage.Exclusive(err) != nil:
		return exitUsage, usage.Exclusive(err)
	}
	return exitFailed, err
}

func newRoot() *cobra.Command {
	root := &cobra.Command{
		Use:   "dyno",
		Short: "A dynamometer for Go network services",
		Long: `Dyno drives a service to its capacity (the highest rate that still meets its SLO), observes the
process on the same clock, and shows with a confidence interval whether a change made it faster.

Exit codes: 0 ok, 1 failed, 2 usage, 3 the gate or SLO was missed or no request succeeded,
4 the run is invalid (with the reason).`,
		Example: `  dyno run scenarios/notify.yaml            climb a service's ladder and write report.html
  dyno load http://127.0.0.1:8080/ -r 2000  one load against something that already runs
  dyno doctor                               check whether this machine is fit to measure on`,
		SilenceUsage:  true,
		SilenceErrors: true,
		Args:          usage.UnknownCommand,
		RunE:          func(cmd *cobra.Command, _ []string) error { return cmd.Help() },
	}
	root.SetFlagErrorFunc(usage.FlagError)
	root.AddCommand(newRun(), newLoad(), newCapacity(), newCompare(), newBench(), newBisect(), newHistory(), newTune(), newReport(), newLive(), newDoctor(), newInit(), newSchema(), newVersion(), manual.New("dyno"), newDiagnose(), newObserve(), newEscape(terminal), newImport(), windows.New(),
		newAgent(agentsVersion(), func(host string, allowed bool) error { return (&common{allowHost: allowed}).permit(host) }), gone())
	for _, cmd := range root.Commands() {
		usage.ExplainArgs(cmd)
	}
	usage.Help(root)
	return root
}

// gone explains commands that earlier versions had.
func gone() *cobra.Command {
	return &cobra.Command{Use: "layout", Hidden: true, DisableFlagParsing: true, RunE: func(*cobra.Command, []string) error {
		return usage.Errorf("layout was removed; the vet tool fieldalignment finds padding, and perf c2c the cache lines that cores contend for")
	}}
}
