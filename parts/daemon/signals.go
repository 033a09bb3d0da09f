package daemon

import (
	"context"
	"fmt"
	"io"
	"os"
	"os/signal"
	"sync"
	"syscall"
)

// watchSignals returns a context that the first SIGTERM or SIGINT ends. The second ends the process.
func watchSignals(ctx context.Context, name string, stderr io.Writer) (_ context.Context, stop func()) {
	ctx, cancel := context.WithCancel(ctx)
	signals := make(chan os.Signal, 2) // the second must not be lost while the first is being handled
	signal.Notify(signals, syscall.SIGTERM, os.Interrupt)
	quit := make(chan struct{})
	var watching sync.WaitGroup
	watching.Go(func() {
		for told := false; ; told = true {
			select {
			case <-quit:
				return
			case <-signals:
			}
			if told {
				fmt.Fprintf(stderr, "%s: second signal: leaving before the drain has finished\n", name)
				os.Exit(exitFailed)
			}
			cancel()
		}
	})
	return ctx, func() {
		signal.Stop(signals)
		close(quit)
		watching.Wait()
		cancel()
	}
}
