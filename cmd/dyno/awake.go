package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"os/signal"
	"runtime"
	"strconv"
	"syscall"

	"dyno/lab/probe"
	"dyno/lab/probe/awake"

	"github.com/spf13/cobra"
)

func newAwake() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "awake COMMAND [ARGUMENT...]",
		Short: "Run a command while the CPUs of a virtual machine are kept awake",
		Long: `A virtual CPU that goes to sleep is slow to wake, which shows as latency and as steal though nobody took anything.
Awake runs a loop of the lowest priority (SCHED_IDLE) on each CPU, so that none goes to sleep, and a command meanwhile.
What the loops use is not held against a run, and that they were there is recorded with it.

Use it where you measure alone: other sessions of this machine lose time to the loops. Its exit code is the command's.`,
		Example: `  dyno awake dyno run scenarios/notify.yaml
  dyno awake go run ./bench/ledger`,
		Args: cobra.MinimumNArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error { return runAwake(cmd.Context(), args) },
	}
	cmd.Flags().SetInterspersed(false) // what follows the command is the command's
	return cmd
}

func runAwake(ctx context.Context, args []string) error {
	if cores, _ := probe.Quota(os.Getpid()); cores > 0 && cores < float64(runtime.NumCPU()) {
		return fmt.Errorf("awake: a control group grants %.3g of %d CPUs: keeping them awake would use that up; run the command alone", cores, runtime.NumCPU())
	}
	command := exec.Command(args[0], args[1:]...)
	command.Stdin, command.Stdout, command.Stderr = os.Stdin, os.Stdout, os.Stderr
	command.Env = append(os.Environ(), awake.Variable+"="+strconv.Itoa(os.Getpid()))
	// An interrupt from the terminal reaches the command, too; it ends when it is ready to.
	signals := make(chan os.Signal, 1)
	signal.Notify(signals, os.Interrupt, syscall.SIGTERM)
	defer signal.Stop(signals)
	if err := command.Start(); err != nil {
		return fmt.Errorf("awake: %w", err)
	}
	ctx, stop := context.WithCancel(context.WithoutCancel(ctx))
	defer stop()
	kept := make(chan error, 1)
	go func() { kept <- awake.Keep(ctx) }()
	ended := make(chan error, 1)
	go func() { ended <- command.Wait() }()
	var failed error
	for {
		select {
		case s := <-signals:
			if s == syscall.SIGTERM {
				command.Process.Signal(s)
			}
		case failed = <-kept: // before its time
			kept = nil
			command.Process.Signal(syscall.SIGTERM)
		case err := <-ended:
			stop()
			if kept != nil {
				failed = <-kept
			}
			return errors.Join(failed, ending(err))
		}
	}
}

// ending is a command's exit code as our own.
func ending(err error) error {
	var e *exec.ExitError
	if !errors.As(err, &e) {
		return err
	}
	if status, ok := e.Sys().(syscall.WaitStatus); ok && status.Signaled() {
		return &exit{code: 128 + int(status.Signal())} // as a shell says it
	}
	return &exit{code: e.ExitCode()}
}
