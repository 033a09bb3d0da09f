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

// echo is within which another signal is the first one once more: timeout(1) tells the process and then its group,
// and a terminal tells the group of which a wrapper passes it on. Who presses Ctrl-C again has read what the first did.
const echo = 500 * time.Millisecond

// errInterrupted is the cause of a context that SIGINT ended.
var errInterrupted = errors.New("interrupted")

// watchSignals returns a context that the first SIGTERM or SIGINT ends. The second ends the process.
func watchSignals(ctx context.Context, name string, stderr io.Writer) (_ context.Context, stop func()) {
	ctx, cancel := context.WithCancelCause(ctx)
	signals := make(chan os.Signal, 2) // the second must not be lost while the first is being handled
	signal.Notify(signals, syscall.SIGTERM, os.Interrupt)
	quit := make(chan struct{})
	var watching sync.WaitGroup
	watching.Go(func() {
		if toldTwice(signals, quit, func(first os.Signal) {
			if first == os.Interrupt {
				cancel(errInterrupted)
			}
			cancel(nil)
		}) {
			fmt.Fprintf(stderr, "%s: second signal: leaving at once\n", name)
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

// toldTwice calls drain at the first signal, and returns at the second, or at quit with false.
func toldTwice(signals <-chan os.Signal, quit <-chan struct{}, drain func(first os.Signal)) bool {
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
