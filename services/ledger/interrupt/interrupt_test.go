package interrupt

import (
	"context"
	"errors"
	"fmt"
	"os"
	"syscall"
	"testing"
	"testing/synctest"

	"github.com/spf13/cobra"
	"go.uber.org/goleak"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func command(t *testing.T, ctx context.Context) *cobra.Command {
	t.Helper()
	cmd := &cobra.Command{Use: "count"}
	cmd.SetContext(ctx)
	return cmd
}

const toldToStop = "count was told to stop before it was done"

func TestSignalsEndTheWork(t *testing.T) {
	for _, s := range []syscall.Signal{syscall.SIGINT, syscall.SIGTERM} {
		closed := false
		err := Run(command(t, t.Context()), func(ctx context.Context) error {
			if err := syscall.Kill(os.Getpid(), s); err != nil {
				return err
			}
			<-ctx.Done()
			closed = true
			return fmt.Errorf("counting: %w", context.Cause(ctx))
		})
		if err == nil || err.Error() != toldToStop || !closed {
			t.Errorf("%v: %v, %v", s, err, closed)
		}
	}
}

func TestWorkHasTheLastWord(t *testing.T) {
	broken := errors.New("broken")
	over, cancel := context.WithCancel(t.Context())
	cancel()
	for _, c := range []struct {
		name string
		ctx  context.Context
		err  error
		want string
	}{
		{"done", t.Context(), nil, ""},
		{"failed", t.Context(), broken, "broken"},
		{"done in spite of it", over, nil, ""},
		{"failed meanwhile", over, broken, "broken"},
		{"stopped", over, context.Canceled, toldToStop},
	} {
		err := Run(command(t, c.ctx), func(context.Context) error { return c.err })
		if (err == nil) != (c.want == "") || err != nil && err.Error() != c.want {
			t.Errorf("%s: %v, not %q", c.name, err, c.want)
		}
	}
}

// Work that does not look at its context, because it is reading from a terminal, does not keep the command from its end.
func TestStuckWorkIsLeft(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithCancel(t.Context())
		cancel()
		stuck := make(chan struct{})
		if err := Run(command(t, ctx), func(context.Context) error { <-stuck; return nil }); err == nil || err.Error() != toldToStop {
			t.Error(err)
		}
		close(stuck)
	})
}
