package daemon

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"strings"
	"testing"
	"testing/iotest"
	"testing/synctest"
)

// runCommand runs a command of a service.
func runCommand(ctx context.Context, stdin io.Reader, run func(context.Context, io.Reader) error) (code int, stderr string) {
	var said bytes.Buffer
	code = ExitCode("toyd", toy().Interruptible(ctx, "work", stdin, &said, run), &said)
	return code, said.String()
}

// After the signal to stop, a command's own error is reported unchanged.
func TestHowCommandsEnd(t *testing.T) {
	noLeaks(t)
	lost := errors.New("the disk is gone")
	for _, c := range []struct {
		name string
		run  func(ctx context.Context, stop func()) error
		code int
		says string
	}{
		{"done", func(context.Context, func()) error { return nil }, exitOK, ""},
		{"failed", func(context.Context, func()) error { return lost }, exitFailed, "toyd: the disk is gone\n"},
		{"a mistake", func(context.Context, func()) error { return Usage(lost) }, exitUsage, "toyd: the disk is gone\n"},
		{"stopped", func(ctx context.Context, stop func()) error {
			stop()
			<-ctx.Done()
			return fmt.Errorf("writing: %w", ctx.Err())
		},
			exitFailed, "toyd: work was stopped before it was done\n"},
		{"stopped in good order", func(ctx context.Context, stop func()) error { stop(); <-ctx.Done(); return nil }, exitOK, ""},
		{"failed while stopping", func(ctx context.Context, stop func()) error { stop(); <-ctx.Done(); return lost }, exitFailed, "toyd: the disk is gone\n"},
		{"cancelled on its own", func(context.Context, func()) error { return context.Canceled }, exitFailed, "toyd: context canceled\n"},
	} {
		ctx, stop := context.WithCancel(t.Context())
		code, says := runCommand(ctx, nil, func(ctx context.Context, _ io.Reader) error { return c.run(ctx, stop) })
		stop()
		if code != c.code || says != c.says {
			t.Errorf("%s: exit %d, %q", c.name, code, says)
		}
	}
}

func TestCommandThatDoesNotStopIsBounded(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithCancel(t.Context())
		cancel()
		stuck := make(chan struct{})
		err := toy().Interruptible(ctx, "work", nil, io.Discard, func(context.Context, io.Reader) error { <-stuck; return nil })
		if err == nil || err.Error() != "work was still running 1m0s after the signal to stop" {
			t.Error(err)
		}
		close(stuck)
	})
}

// Commands read what stdin has, to its end or its error.
func TestCommandsRead(t *testing.T) {
	noLeaks(t)
	text := strings.Repeat("all of it, ", 10_000)
	for name, from := range map[string]io.Reader{
		"whole":      strings.NewReader(text),
		"bit by bit": iotest.HalfReader(strings.NewReader(text)),
		"with EOF":   iotest.DataErrReader(strings.NewReader(text)),
	} {
		code, says := runCommand(t.Context(), from, func(_ context.Context, stdin io.Reader) error {
			got, err := io.ReadAll(stdin)
			if string(got) != text {
				err = errors.Join(err, fmt.Errorf("%d bytes", len(got)))
			}
			return err
		})
		if code != exitOK {
			t.Errorf("%s: %s", name, says)
		}
	}
	code, says := runCommand(t.Context(), iotest.ErrReader(errors.New("broken")), func(_ context.Context, stdin io.Reader) error {
		_, err := io.ReadAll(stdin)
		return err
	})
	if code != exitFailed || says != "toyd: broken\n" {
		t.Errorf("exit %d, %q", code, says)
	}
}
