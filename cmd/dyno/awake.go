package main

import (
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
Awake keeps a loop of the lowest priority (SCHED_IDLE) on each CPU, so that none goes to sleep while a command runs.
What the loops use is not held against a run, and that they were there is recorded with it.

Use it where you measure alone: other sessions of this machine lose time to the loops. Its exit code is the command's.`,
		Example: `  dyno awake dyno run scenarios/notify.yaml
  dyno awake go run ./bench/ledger`,
		Args: cobra.MinimumNArgs(1),
		RunE: func(_ *cobra.Command, args []string) error { return runAwake(args) },
	}
	cmd.Flags().SetInterspersed(false) // what follows the command is the command's
	return cmd
}

func runAwake(args []string) error {
	signals := make(chan os.Signal, 4)
	signal.Notify(signals, os.Interrupt, syscall.SIGTERM, syscall.SIGHUP)
	defer signal.Stop(signals)
	command := exec.Command(args[0], args[1:]...)
	command.Stdin, command.Stdout, command.Stderr = os.Stdin, os.Stdout, os.Stderr
	if awake.PID() == 0 { // else they are kept awake already
		stop, err := keepAwake()
		if err != nil {
			return fmt.Errorf("awake: %w", err)
		}
		defer stop()
		command.Env = append(os.Environ(), awake.Variable+"="+strconv.Itoa(os.Getpid()))
	}
	if err := command.Start(); err != nil {
		return fmt.Errorf("awake: %w", err)
	}
	ended := make(chan error, 1)
	go func() { ended <- command.Wait() }()
	for {
		select {
		case s := <-signals:
			if s != os.Interrupt || !onTerminal() { // from there an interrupt reaches the command as well
				command.Process.Signal(s) // an error says that it has ended
			}
		case err := <-ended:
			return ending(err)
		}
	}
}

// onTerminal reports whether a terminal controls this process.
func onTerminal() bool {
	tty, err := os.Open("/dev/tty")
	if err != nil {
		return false
	}
	tty.Close()
	return true
}

// keepAwake refuses where it would take the CPUs from the command.
func keepAwake() (stop func(), err error) {
	if cores, _ := probe.Quota(os.Getpid()); cores > 0 && cores < float64(runtime.NumCPU()) {
		return nil, fmt.Errorf("a control group grants %.3g of %d CPUs, and keeping them awake would use that up: run the command alone", cores, runtime.NumCPU())
	}
	return awake.Keep()
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
