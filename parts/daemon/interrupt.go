package daemon

import (
	"context"
	"errors"
	"fmt"
	"io"
	"time"

	"github.com/spf13/cobra"
)

// grace is how long a command that was told to stop may take. The longest that one of ours needs is for a PostgreSQL
// that has to be stopped first in good order and then at once, about 40 s.
const grace = time.Minute

// interruptible lets the first SIGINT or SIGTERM end the context of a command and of those below it, and with it what
// they read from stdin. The second ends the process.
func (s Service) interruptible(c *cobra.Command, stderr io.Writer) {
	for _, below := range c.Commands() {
		s.interruptible(below, stderr)
	}
	run := c.RunE
	if run == nil {
		return
	}
	c.RunE = func(cmd *cobra.Command, args []string) error {
		ctx, stopWatching := watchSignals(cmd.Context(), s.Name, stderr)
		defer stopWatching()
		cmd.SetContext(ctx)
		cmd.SetIn(&input{ctx: ctx, from: cmd.InOrStdin()})
		finished := make(chan error, 1)
		go func() { finished <- run(cmd, args) }() // outlives this only when the process is about to end
		select {
		case err := <-finished:
			return toldToStop(ctx, cmd.Name(), err)
		case <-ctx.Done():
		}
		select {
		case err := <-finished:
			return toldToStop(ctx, cmd.Name(), err)
		case <-time.After(grace):
			return fmt.Errorf("%s was told to stop and had not %v later", cmd.Name(), grace)
		}
	}
}

// toldToStop is how what has a name ended with err under ctx: what was told to stop before it was done is an error that
// says so; what ended otherwise has its own word.
func toldToStop(ctx context.Context, name string, err error) error {
	if ctx.Err() != nil && errors.Is(err, ctx.Err()) {
		return fmt.Errorf("%s was told to stop before it was done", name)
	}
	return err
}

// input is stdin until ctx ends. A read of a terminal or a pipe is ended by nothing else, and goes on behind it until the
// process ends.
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
