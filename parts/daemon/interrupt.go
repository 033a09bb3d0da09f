package daemon

import (
	"context"
	"errors"
	"fmt"
	"io"
	"time"
)

// grace is how long a command that was told to stop may take. The longest that one of ours needs is
// for a PostgreSQL that has to be stopped first in good order and then at once, about 40 s.
const grace = time.Minute

// Interruptible runs one of the service's further commands, which have no debug address. The first
// SIGINT or SIGTERM ends the context, and with it what the command reads from stdin; if the command
// returns the context's error then, its work was not done, which is an error. The second ends the
// process.
func (s Service) Interruptible(ctx context.Context, name string, stdin io.Reader, stderr io.Writer, run func(context.Context, io.Reader) error) error {
	ctx, stopWatching := watchSignals(ctx, s.Name, stderr)
	defer stopWatching()
	finished := make(chan error, 1)
	go func() { finished <- run(ctx, &input{ctx: ctx, from: stdin}) }() // outlives this only when the process is about to end
	select {
	case err := <-finished:
		return toldToStop(ctx, name, err)
	case <-ctx.Done():
	}
	select {
	case err := <-finished:
		return toldToStop(ctx, name, err)
	case <-time.After(grace):
		return fmt.Errorf("%s was told to stop and had not %v later", name, grace)
	}
}

// toldToStop is how what has a name ended with err under ctx: what was told to stop before it was
// done is an error that says so; what ended otherwise has its own word.
func toldToStop(ctx context.Context, name string, err error) error {
	if ctx.Err() != nil && errors.Is(err, ctx.Err()) {
		return fmt.Errorf("%s was told to stop before it was done", name)
	}
	return err
}

// input is stdin until ctx ends. A read of a terminal or a pipe is ended by nothing else, and goes
// on behind it until the process ends.
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
