// Package command is what the commands of bench share that run dyno or measure with the lab: how they begin and
// end, and the dyno that they run.
//
// It is not for the programs that are measured (bench/peers/callers is), nor for where a result is from
// (bench/stored). Burn owns its goroutine until it is stopped.
package command

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"time"

	"dyno/lab/load"

	"github.com/spf13/pflag"
)

// Usage is what is wrong with a command line.
type Usage struct{ error }

// Wrong returns a Usage.
func Wrong(format string, args ...any) error { return Usage{fmt.Errorf(format, args...)} }

// Main runs a command until it ends, or its context does by SIGTERM or an interrupt. It prints the error, and
// exits with 2 if that is a Usage, else with 1.
func Main(name string, run func(ctx context.Context, args []string, out io.Writer) error) {
	load.SpareProcs()
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	err := run(ctx, os.Args[1:], os.Stdout)
	if err == nil || errors.Is(err, pflag.ErrHelp) {
		return
	}
	fmt.Fprintf(os.Stderr, "%s: %v\n", name, err)
	if errors.As(err, new(Usage)) {
		os.Exit(2)
	}
	os.Exit(1)
}

// Flags returns the flags of a command, whose help is a text with them.
func Flags(name, help string, out io.Writer) *pflag.FlagSet {
	f := pflag.NewFlagSet(name, pflag.ContinueOnError)
	f.SetOutput(out)
	f.Usage = func() { fmt.Fprint(out, help, f.FlagUsages()) }
	return f
}

// Parse parses flags. An error is pflag.ErrHelp or a Usage.
func Parse(f *pflag.FlagSet, args []string) error {
	err := f.Parse(args)
	if err != nil && !errors.Is(err, pflag.ErrHelp) {
		err = Usage{err}
	}
	return err
}

// Say reports an event on stderr.
func Say(format string, args ...any) {
	fmt.Fprintf(os.Stderr, time.Now().Format("15:04:05")+"  "+format+"\n", args...)
}

// Dyno returns the dyno to run: the one that is named or, without a name, one that it builds from here into a folder.
func Dyno(ctx context.Context, named, dir string) (string, error) {
	if named != "" {
		return named, nil
	}
	Say("building dyno")
	file := filepath.Join(dir, "dyno")
	if text, err := exec.CommandContext(ctx, "go", "build", "-buildvcs=auto", "-o", file, "./cmd/dyno").CombinedOutput(); err != nil {
		return "", fmt.Errorf("building dyno: %w\n%s", err, text)
	}
	return file, nil
}

// Object runs a dyno, and reads the object that it prints also when its exit code says that it is not satisfied
// with what it measured. The error has the last line of stderr, unless the caller shows stderr.
func Object(dyno *exec.Cmd, into any) error {
	dyno.SysProcAttr = &syscall.SysProcAttr{Setpgid: true} // Ctrl-C reaches it once, through this process
	dyno.Cancel = func() error { return dyno.Process.Signal(os.Interrupt) }
	dyno.WaitDelay = 20 * time.Second // after Ctrl-C: dyno stops its processes and writes what it has
	var log strings.Builder
	if dyno.Stderr == nil {
		dyno.Stderr = &log
	}
	text, err := dyno.Output()
	if jsonErr := json.Unmarshal(text, into); jsonErr != nil {
		return errors.Join(err, fmt.Errorf("dyno %s printed no object: %s", dyno.Args[1], LastLine(log.String())))
	}
	return nil
}

// LastLine returns the last line of a text that says anything.
func LastLine(text string) string {
	lines := strings.Split(strings.TrimSpace(text), "\n")
	return lines[len(lines)-1]
}

// Burn is a neighbour that takes one core half of the time, until it is stopped.
func Burn() (stop func()) {
	const half = 10 * time.Millisecond
	var stopped atomic.Bool
	var burning sync.WaitGroup
	burning.Go(func() {
		for !stopped.Load() {
			for began := time.Now(); time.Since(began) < half; {
			}
			time.Sleep(half)
		}
	})
	return func() { stopped.Store(true); burning.Wait() }
}
