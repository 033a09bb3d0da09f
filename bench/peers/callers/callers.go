// Package callers is what the jobs of peers have in common: callers that work back to back, each a
// goroutine, and a main function that ends on SIGTERM. Each call is a unit of a job, so a caller
// waits for its answer before it calls again (the closed model), and the lab measures how many
// calls end in a second and how long they take.
//
// It is not for load at a rate (lab/load is), nor for peers that print their own results (see
// peers/pgbench and peers/wrk).
package callers

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"net"
	"os"
	"os/exec"
	"os/signal"
	"strings"
	"sync"
	"syscall"
	"time"

	"dyno/parts/progress"
)

// Main runs a job until it ends or is stopped by SIGTERM or an interrupt, prints its error, and
// exits.
func Main(name string, run func(ctx context.Context) error) {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	err := run(ctx)
	stopped := ctx.Err() != nil
	stop()
	if err != nil && !stopped {
		fmt.Fprintf(os.Stderr, "%s: %v\n", name, err)
		os.Exit(1)
	}
	os.Exit(0)
}

// most is the largest number of callers.
const most = 4096

// Run starts callers and prints their calls to out, as windows of a job, until ctx ends or a call
// fails. Open is called once by each caller and returns its call; a call does units of work, which
// count when it returns.
func Run(ctx context.Context, out io.Writer, callers, units int, open func(caller int) (call func() error, err error)) error {
	if callers < 1 || callers > most || units < 1 {
		return fmt.Errorf("%d callers with %d units a call: there are 1 to %d callers, and at least 1 unit", callers, units, most)
	}
	w := progress.New(out)
	ctx, fail := context.WithCancelCause(ctx)
	defer fail(nil)
	var working sync.WaitGroup
	for i := range callers {
		working.Go(func() {
			if err := work(ctx, w, units, func() (func() error, error) { return open(i) }); err != nil {
				fail(err)
			}
		})
	}
	working.Wait()
	err := context.Cause(ctx)
	if errors.Is(err, context.Canceled) {
		err = nil // it was stopped
	}
	return errors.Join(err, w.Close(err))
}

func work(ctx context.Context, w *progress.Writer, units int, open func() (func() error, error)) error {
	call, err := open()
	for err == nil && ctx.Err() == nil {
		began := time.Now()
		if err = call(); err != nil {
			break
		}
		took := time.Since(began)
		for range units {
			w.Done(took, 0, false)
		}
	}
	if ctx.Err() != nil {
		return nil // what is called may have ended with the job
	}
	return err
}

// RecordBytes is the size of the records that logs and queues are given.
const RecordBytes = 256

// Records returns n records of printable bytes that do not compress, the same in every process.
func Records(n int) [][]byte {
	const letters = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-_"
	r := rand.New(rand.NewPCG(1, 2))
	out := make([][]byte, n)
	for i := range out {
		out[i] = make([]byte, RecordBytes)
		for k := range out[i] {
			out[i][k] = letters[r.IntN(len(letters))]
		}
	}
	return out
}

// Child starts a program that works for the job, and returns what stops it. It belongs to the job's
// process group, so that the lab stops both, and its CPU time is the job's. A missing program is an
// error that says how to install it.
func Child(install string, command ...string) (stop func(), err error) {
	path, err := exec.LookPath(command[0])
	if err != nil {
		return nil, fmt.Errorf("%s is not installed: %s", command[0], install)
	}
	cmd := exec.Command(path, command[1:]...)
	cmd.Stderr = os.Stderr
	return stopper(cmd), cmd.Start()
}

// Self starts this program again with other arguments, as a server of the job, and returns the
// first line that it prints.
func Self(args ...string) (ready string, stop func(), err error) {
	self, err := os.Executable()
	if err != nil {
		return "", nil, err
	}
	cmd := exec.Command(self, args...)
	cmd.Stderr = os.Stderr
	out, err := cmd.StdoutPipe()
	if err != nil {
		return "", nil, err
	}
	if err := cmd.Start(); err != nil {
		return "", nil, err
	}
	if ready, err = bufio.NewReader(out).ReadString('\n'); err != nil {
		stopper(cmd)()
		return "", nil, fmt.Errorf("starting %s: %w", strings.Join(args[:min(1, len(args))], " "), err)
	}
	return strings.TrimSpace(ready), stopper(cmd), nil
}

func stopper(cmd *exec.Cmd) func() {
	return func() {
		cmd.Process.Signal(syscall.SIGTERM)
		cmd.Wait()
	}
}

// Await tries until it succeeds, for a server that starts. When the time is over, the error is that of the last try.
func Await(ctx context.Context, longest time.Duration, try func(context.Context) error) error {
	ctx, cancel := context.WithTimeout(ctx, longest)
	defer cancel()
	for {
		err := try(ctx)
		if err == nil {
			return nil
		}
		select {
		case <-ctx.Done():
			return err
		case <-time.After(50 * time.Millisecond):
		}
	}
}

// Connecting is a try for Await: to connect to an address.
func Connecting(address string) func(context.Context) error {
	return func(ctx context.Context) error {
		c, err := (&net.Dialer{}).DialContext(ctx, "tcp", address)
		if err != nil {
			return err
		}
		return c.Close()
	}
}
