package daemon

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"strings"
	"syscall"
	"testing"
	"testing/iotest"
	"testing/synctest"

	"github.com/spf13/cobra"
)

// A command that waits for its stdin, which never ends, is ended by a signal.
func TestSignalsEndCommands(t *testing.T) {
	noLeaks(t)
	for _, signal := range []os.Signal{syscall.SIGTERM, os.Interrupt} {
		in, out := io.Pipe()
		cmd := exec.Command("toyd", "echo")
		var stderr bytes.Buffer
		cmd.Stdin, cmd.Stdout, cmd.Stderr = in, firstWrite(func() {
			if err := cmd.Process.Signal(signal); err != nil {
				t.Error(err)
			}
		}), &stderr
		if err := cmd.Start(); err != nil {
			t.Fatal(err)
		}
		state, err := cmd.Process.Wait()
		out.Close()
		cmd.Wait() // of what copies
		if err != nil || state.ExitCode() != exitFailed || stderr.String() != "toyd: echo was told to stop before it was done\n" {
			t.Errorf("%v: %v, %v, stderr %q", signal, state, err, &stderr)
		}
	}
}

// firstWrite calls a function when somebody writes first.
func firstWrite(call func()) io.Writer { return &onWrite{call} }

type onWrite struct{ call func() }

func (w *onWrite) Write(b []byte) (int, error) {
	if w.call != nil {
		w.call()
		w.call = nil
	}
	return len(b), nil
}

// runCommand runs a command of a service, under another one.
func runCommand(ctx context.Context, stdin io.Reader, run func(*cobra.Command) error) (code int, stderr string) {
	s, above := toy(), &cobra.Command{Use: "above"}
	cmd := &cobra.Command{Use: "work", RunE: func(cmd *cobra.Command, _ []string) error { return run(cmd) }}
	cmd.SetIn(stdin)
	above.AddCommand(cmd)
	s.Commands = []*cobra.Command{above}
	var said bytes.Buffer
	code = Run(ctx, s, []string{"above", "work"}, noEnv, io.Discard, &said)
	return code, said.String()
}

// What a command returns after it was told to stop is its own word.
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
			exitFailed, "toyd: work was told to stop before it was done\n"},
		{"stopped in good order", func(ctx context.Context, stop func()) error { stop(); <-ctx.Done(); return nil }, exitOK, ""},
		{"failed while stopping", func(ctx context.Context, stop func()) error { stop(); <-ctx.Done(); return lost }, exitFailed, "toyd: the disk is gone\n"},
		{"cancelled by itself", func(context.Context, func()) error { return context.Canceled }, exitFailed, "toyd: context canceled\n"},
	} {
		ctx, stop := context.WithCancel(t.Context())
		code, says := runCommand(ctx, nil, func(cmd *cobra.Command) error { return c.run(cmd.Context(), stop) })
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
		cmd := &cobra.Command{Use: "work", RunE: func(*cobra.Command, []string) error { <-stuck; return nil }}
		cmd.SetContext(ctx)
		toy().interruptible(cmd, io.Discard)
		if err := cmd.RunE(cmd, nil); err == nil || err.Error() != "work was told to stop and had not 1m0s later" {
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
		"at once":    strings.NewReader(text),
		"bit by bit": iotest.HalfReader(strings.NewReader(text)),
		"with EOF":   iotest.DataErrReader(strings.NewReader(text)),
	} {
		code, says := runCommand(t.Context(), from, func(cmd *cobra.Command) error {
			got, err := io.ReadAll(cmd.InOrStdin())
			if string(got) != text {
				err = errors.Join(err, fmt.Errorf("%d bytes", len(got)))
			}
			return err
		})
		if code != exitOK {
			t.Errorf("%s: %s", name, says)
		}
	}
	code, says := runCommand(t.Context(), iotest.ErrReader(errors.New("broken")), func(cmd *cobra.Command) error {
		_, err := io.ReadAll(cmd.InOrStdin())
		return err
	})
	if code != exitFailed || says != "toyd: broken\n" {
		t.Errorf("exit %d, %q", code, says)
	}
}
