package daemon

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"testing"
	"time"

	"github.com/rogpeppe/go-internal/testscript"
	"github.com/spf13/pflag"
	"go.uber.org/goleak"

	"dyno/parts/assembly"
	"dyno/parts/datadir"
)

// TestMain lets this binary also run as the toy service, so that tests can start it as a separate
// process.
func TestMain(m *testing.M) {
	testscript.Main(m, map[string]func(){"toyd": func() {
		os.Exit(Run(context.Background(), toy(), os.Args[1:], os.LookupEnv, os.Stdout, os.Stderr))
	}})
}

func noLeaks(t *testing.T) {
	t.Helper()
	ignore := goleak.IgnoreCurrent()
	t.Cleanup(func() {
		http.DefaultClient.CloseIdleConnections()
		goleak.VerifyNone(t, ignore)
	})
}

type toySettings struct {
	Workers int           `set:"workers" default:"1" min:"1" max:"64" doc:"goroutines that deliver"`
	Linger  time.Duration `set:"linger" default:"0s" min:"0s" max:"1s" doc:"how long a batch waits for more"`
	Segment int64         `set:"segment" default:"64MiB" min:"1MiB" max:"1GiB" doc:"size of a file of the log"`
	Sync    string        `set:"sync" values:"always,never" doc:"when to fsync"`
}

func toyAssembly() assembly.Parts {
	return assembly.Parts{
		Seams: []assembly.Seam{
			{Name: "queue", Doc: "where notices wait", Impls: []assembly.Impl{{Name: "channel", Doc: "a buffered channel"}, {Name: "ring", Doc: "grows"}, {Name: "swap", Doc: "takes a batch"}}},
			{Name: "log", Doc: "where they are kept", Impls: []assembly.Impl{{Name: "plain", Doc: "an fsync each"}, {Name: "group", Doc: "an fsync for all"}}},
		},
		Settings: assembly.Settings[toySettings](),
		Ladder: []assembly.Step{
			{Name: "ring", Change: map[string]string{"queue": "ring"}, Why: "a burst no longer blocks"},
			{Name: "workers", Change: map[string]string{"workers": "8"}, Why: "Little's law"},
			{Name: "group-commit", Change: map[string]string{"log": "group", "linger": "1ms"}, Why: "one fsync for all"},
		},
	}
}

// toy is a service with one slow page. Its debug page lets the slow request go on.
func toy() Service {
	return Service{
		Name:     "toyd",
		Short:    "Answer with the assembly",
		Example:  "  toyd count --to 3\n  toyd serve --assembly baseline --set workers=4",
		Assembly: toyAssembly(),
		Data:     &datadir.Folder{Format: 2, Upgrade: func(string, int) error { return nil }},
		Start:    startToy,
		Jobs:     []Job{countJob()},
	}
}

// countJob counts on stdout. With --hold it then waits until a request to its debug page releases
// it; the argument "stubborn" makes it wait for that even after the signal to stop.
func countJob() Job {
	var to int
	var hold bool
	return Job{
		Name:    "count",
		Short:   "Count to a number",
		Example: "  toyd count --to 3",
		Args:    "[stubborn]",
		Flags: func(f *pflag.FlagSet) {
			f.IntVar(&to, "to", 2, "last `NUMBER`")
			f.BoolVar(&hold, "hold", false, "wait at the end")
		},
		Run: func(ctx context.Context, env *Env, args []string) error {
			if to < 1 {
				return Usage(errors.New("--to is less than 1"))
			}
			for i := range to {
				fmt.Fprintln(env.Stdout, i+1, env.Choice.Get("queue"), env.Data)
			}
			env.Log.Info("counted")
			if !hold {
				return nil
			}
			release := make(chan struct{})
			env.Debug.HandleFunc("POST /debug/toyd/release", func(http.ResponseWriter, *http.Request) { close(release) })
			env.Debug.HandleFunc("POST /debug/toyd/fail", func(http.ResponseWriter, *http.Request) {
				env.Fail(errors.New("the disk is gone\nfor good"))
			})
			fmt.Fprintln(env.Stdout, "holding")
			if len(args) > 0 {
				ctx = context.WithoutCancel(ctx)
			}
			select {
			case <-release:
				return nil
			case <-ctx.Done():
				return fmt.Errorf("counting: %w", ctx.Err())
			}
		},
	}
}

func startToy(_ context.Context, env *Env) (Running, error) {
	if env.Choice.Get("queue") == "swap" && env.Choice.Get("log") == "plain" {
		return Running{}, Usage(errors.New("queue=swap needs log=group"))
	}
	release := make(chan struct{})
	env.Debug.HandleFunc("POST /debug/toyd/release", func(http.ResponseWriter, *http.Request) { close(release) })
	env.Debug.HandleFunc("POST /debug/toyd/fail", func(http.ResponseWriter, *http.Request) {
		env.Fail(errors.New("the disk is gone\nfor good"))
	})
	env.Agent.Gauge("workers", func() float64 { return float64(assembly.Bind[toySettings](env.Choice).Workers) })
	pages := http.NewServeMux()
	pages.HandleFunc("GET /queue", func(w http.ResponseWriter, _ *http.Request) { io.WriteString(w, env.Choice.Get("queue")) })
	pages.HandleFunc("GET /slow", func(w http.ResponseWriter, r *http.Request) {
		w.(http.Flusher).Flush() // the client knows that it is being served
		select {
		case <-release:
			io.WriteString(w, "finished")
		case <-r.Context().Done():
		}
	})
	pages.HandleFunc("GET /stream", func(w http.ResponseWriter, r *http.Request) {
		w.(http.Flusher).Flush()
		<-env.Draining
	})
	return Running{Handler: pages, Drain: func(context.Context) error {
		env.Log.Info("drained")
		return nil
	}}, nil
}
