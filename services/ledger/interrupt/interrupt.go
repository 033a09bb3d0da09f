// Package interrupt lets Ctrl-C end a command that runs by itself, such as check, in good order: files that are not
// whole are removed, the store is closed, and one line says what happened. It is not for the service and its jobs, which
// parts/daemon stops.
//
// Run owns the goroutine that works and waits for it; one that is stuck, as in reading from a terminal, is left to the
// end of the process, which is near.
package interrupt

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/signal"
	"syscall"
	"time"

	"github.com/spf13/cobra"
)

// grace is how long work that was told to stop may take: it looks at its context after every ledger.
const grace = 5 * time.Second

// Run does a command's work, whose context SIGINT and SIGTERM end. What was told to stop before it was done is an error.
func Run(cmd *cobra.Command, work func(context.Context) error) error {
	ctx, stop := signal.NotifyContext(cmd.Context(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	finished := make(chan error, 1)
	go func() { finished <- work(ctx) }()
	told := fmt.Errorf("%s was told to stop before it was done", cmd.Name())
	select {
	case err := <-finished:
		return said(ctx, err, told)
	case <-ctx.Done():
	}
	select {
	case err := <-finished:
		return said(ctx, err, told)
	case <-time.After(grace):
		return told
	}
}

// said is the error of work that has ended, or that it was told to.
func said(ctx context.Context, err, told error) error {
	if err != nil && (errors.Is(err, ctx.Err()) || errors.Is(err, context.Cause(ctx))) {
		return told
	}
	return err
}
