package daemon

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/signal"
	"sync"
	"syscall"
	"time"
)

// echo is the time within which another signal counts as a copy of the first: timeout(1) signals
// the process and then its group, and a terminal signals a group in which a wrapper passes the
// signal on. A user who presses Ctrl-C again takes longer, to read the effect of the first.
const echo = 500 * time.Millisecond

// errInterrupted is the cause of a context that SIGINT ended.
var errInterrupted = errors.New("interrupted")

// watchSignals returns a context that the first SIGTERM or SIGINT ends. The second ends the
// process.
func watchSignals(ctx context.Context, name string, stderr io.Writer) (_ context.Context, stop func()) {
	ctx, cancel := context.WithCancelCause(ctx)
	signals := make(chan os.Signal, 2) // the second must not be lost while the first is being handled
	signal.Notify(signals, syscall.SIGTERM, os.Interrupt)
	quit := make(chan struct{})
	var watching sync.WaitGroup
	watching.Go(func() {
		if signalledTwice(signals, quit, func(first os.Signal) {
			if first == os.Interrupt {
				cancel(errInterrupted)
			}
			cancel(nil)
		}) {
			fmt.Fprintf(stderr, "%s: second signal: exiting immediately\n", name)
			os.Exit(exitFailed)
		}
	})
	return ctx, func() {
		signal.Stop(signals)
		close(quit)
		watching.Wait()
		cancel(nil)
	}
}

// signalledTwice calls drain at the first signal, and returns at the second, or at quit with false.
func signalledTwice(signals <-chan os.Signal, quit <-chan struct{}, drain func(first os.Signal)) bool {
	var first time.Time
	for {
		var signal os.Signal
		select {
		case <-quit:
			return false
		case signal = <-signals:
		}
		switch {
		case first.IsZero():
			first = time.Now()
			drain(signal)
		case time.Since(first) >= echo:
			return true
		}
	}
}
