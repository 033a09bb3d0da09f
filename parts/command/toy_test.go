package command

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"os/exec"
	"strings"
	"syscall"
	"testing"
	"time"

	"dyno/parts/assembly"
	"dyno/parts/daemon"
	"dyno/parts/datadir"

	"github.com/rogpeppe/go-internal/testscript"
	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
	"go.uber.org/goleak"
)

// TestMain makes this binary the toy service as well, so that tests can run it as a process of its
// own.
func TestMain(m *testing.M) {
	testscript.Main(m, map[string]func(){"toyd": func() { Main(toy(), echoCommand()) }})
}

// settings are the toy's.
type settings struct {
	Workers int           `set:"workers" default:"1" min:"1" max:"64" tune:"true" doc:"goroutines that deliver"`
	Linger  time.Duration `set:"linger" default:"0s" min:"0s" max:"1s" doc:"how long a batch waits for more"`
	Segment int64         `set:"segment" default:"64MiB" min:"1MiB" max:"1GiB" doc:"size of a file of the log"`
	Sync    string        `set:"sync" values:"always,never" doc:"when to fsync"`
}

// toy is a service that only ever fails to start.
func toy() daemon.Service {
	return daemon.Service{
		Name:    "toyd",
		Short:   "Answer with the assembly",
		Example: "  toyd count --to 3\n  toyd serve --assembly baseline --set workers=4",
		Assembly: assembly.Parts{
			Seams: []assembly.Seam{
				{Name: "queue", Doc: "where notices wait", Impls: []assembly.Impl{{Name: "channel", Doc: "a buffered channel"}, {Name: "ring", Doc: "grows"}, {Name: "swap", Doc: "takes a batch"}}},
				{Name: "log", Doc: "where they are kept", Impls: []assembly.Impl{{Name: "plain", Doc: "an fsync each"}, {Name: "group", Doc: "an fsync for all"}}},
			},
			Settings: assembly.Settings[settings](),
			Ladder: []assembly.Step{
				{Name: "ring", Change: map[string]string{"queue": "ring"}, Why: "a burst no longer blocks"},
				{Name: "workers", Change: map[string]string{"workers": "8"}, Why: "Little's law"},
				{Name: "group-commit", Change: map[string]string{"log": "group", "linger": "1ms"}, Why: "one fsync for all"},
			},
		},
		Data: &datadir.Folder{Format: 1},
		Jobs: []daemon.Job{countJob()},
		Start: func(_ context.Context, env *daemon.Env) (daemon.Running, error) {
			if env.Choice.Get("queue") == "swap" && env.Choice.Get("log") == "plain" {
				return daemon.Running{}, daemon.Usage(errors.New("queue=swap needs log=group"))
			}
			return daemon.Running{Handler: routes()}, nil
		},
	}
}

func routes() http.Handler {
	mux := http.NewServeMux()
	mux.HandleFunc("GET /queue", func(http.ResponseWriter, *http.Request) {})
	return mux
}

// echoCommand prints what it reads when that has ended.
func echoCommand() *cobra.Command {
	return &cobra.Command{Use: "echo", RunE: func(cmd *cobra.Command, _ []string) error {
		fmt.Fprintln(cmd.OutOrStdout(), "reading")
		text, err := io.ReadAll(cmd.InOrStdin())
		if err != nil {
			return fmt.Errorf("reading: %w", err)
		}
		_, err = cmd.OutOrStdout().Write(text)
		return err
	}}
}

// countJob counts on stdout.
func countJob() daemon.Job {
	var to int
	var hold bool
	return daemon.Job{
		Name:    "count",
		Short:   "Count to a number",
		Example: "  toyd count --to 3",
		Args:    "[stubborn]",
		Flags: func(f *pflag.FlagSet) {
			f.IntVar(&to, "to", 2, "last `NUMBER`")
			f.BoolVar(&hold, "hold", false, "wait at the end")
		},
		Run: func(_ context.Context, env *daemon.Env, _ []string) error {
			if to < 1 {
				return daemon.Usage(errors.New("--to is less than 1"))
			}
			for i := range to {
				fmt.Fprintln(env.Stdout, i+1, env.Choice.Get("queue"), env.Data)
			}
			env.Log.Info("counted")
			return nil
		},
	}
}

// A command that waits for its stdin, which never ends, is ended by a signal.
func TestSignalsEndCommands(t *testing.T) {
	defer goleak.VerifyNone(t)
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
		if err != nil || state.ExitCode() != 1 || !strings.HasSuffix(stderr.String(), " before it was done\n") {
			t.Errorf("%v: %v, %v, stderr %q", signal, state, err, &stderr)
		}
	}
}

// firstWrite calls a function at the first write.
func firstWrite(call func()) io.Writer { return &onWrite{call} }

type onWrite struct{ call func() }

func (w *onWrite) Write(b []byte) (int, error) {
	if w.call != nil {
		w.call()
		w.call = nil
	}
	return len(b), nil
}
