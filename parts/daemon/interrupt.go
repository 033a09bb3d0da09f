package daemon

import (
	"context"
	"errors"
	"fmt"
	"io"
	"time"
)

// grace bounds how long a command may run after the signal to stop. The longest time that a command
// needs is about 40 s, for a PostgreSQL that is shut down in good order and then immediately.
const grace = time.Minute

// Interruptible runs one of the service's other commands, which have no debug address. The first
// SIGINT or SIGTERM ends the context and the command's stdin; if the command then returns the
// context's error, its work is not done, which is an error. The second signal ends the process.
func (s Service) Interruptible(ctx context.Context, name string, stdin io.Reader, stderr io.Writer, run func(context.Context, io.Reader) error) error {
	ctx, stopWatching := watchSignals(ctx, s.Name, stderr)
	defer stopWatching()
	finished := make(chan error, 1)
	go func() { finished <- run(ctx, &input{ctx: ctx, from: stdin}) }() // outlives this only when the process is about to end
	select {
	case err := <-finished:
		return interrupted(ctx, name, err)
	case <-ctx.Done():
	}
	select {
	case err := <-finished:
		return interrupted(ctx, name, err)
	case <-time.After(grace):
		return fmt.Errorf("%s was still running %v after the signal to stop", name, grace)
	}
}

// interrupted returns the error of a command or job that ended with err under ctx. If the signal
// stopped it before its work was done, the error says so; otherwise it is err.
func interrupted(ctx context.Context, name string, err error) error {
	if ctx.Err() != nil && errors.Is(err, ctx.Err()) {
		return fmt.Errorf("%s was stopped before it was done", name)
	}
	return err
}

// input is stdin until ctx ends. A read of a terminal or a pipe cannot be cancelled, and continues
// in the background until the process ends.
type input struct {
	ctx    context.Context
	from   io.Reader
	buffer []byte // belongs to the read under way
}

func (in *input) Read(b []byte) (int, error) {
	if err := in.ctx.Err(); err != nil {
		return 0, err
	}
	if len(in.buffer) < len(b) {
		in.buffer = make([]byte, len(b))
	}
	var n int
	var err error
	done := make(chan struct{})
	go func() {
		defer close(done)
		n, err = in.from.Read(in.buffer[:len(b)])
	}()
	select {
	case <-done:
		return copy(b, in.buffer[:n]), err
	case <-in.ctx.Done():
		return 0, in.ctx.Err()
	}
}
