// Package windows has the command dyno windows, which drives a scenario's sessions by another
// tool: it runs k6 or Locust on the user's own script, and prints what the tool measured as the
// stream of windows that the lab reads.
//
// It does not read scripts. The goroutine that waits for the tool has ended when run returns.
package windows

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"dyno/cmd/dyno/usage"
	"dyno/lab/load"
	"dyno/lab/load/tools"
	"dyno/lab/load/windows"
	"dyno/lab/record/redact"
	"dyno/lab/scenario/document"
	"dyno/parts/process"

	"github.com/spf13/cobra"
)

const (
	// drain is how long requests of the measured time may still end after it.
	drain = time.Second
	// spare is how much longer than the measurement the tool is started for, since it may start
	// slowly.
	spare = 5 * time.Minute
	grace = 3 * time.Second // for a tool to end after SIGTERM
)

// flags are the flags of dyno windows.
type flags struct {
	from, url        string
	sessions         int
	warmup, duration time.Duration
}

// tool is a tool that the command can run.
type tool struct {
	form     tools.Form
	program  string // its name on the PATH
	variable string // environment variable that may name another program
	command  func(f *flags, script string, more []string, folder string) ([]string, error)
	env      []string
}

var all = map[string]tool{
	"k6":     {tools.K6, "k6", "K6", k6, []string{"K6_NO_USAGE_REPORT=true", "K6_NO_THRESHOLDS=true", "K6_NO_SUMMARY=true"}},
	"locust": {tools.Locust, "locust", "LOCUST", locust, nil},
}

// k6 returns the arguments of k6. The options for users and duration replace those of the script,
// its scenarios and stages included.
func k6(f *flags, script string, more []string, _ string) ([]string, error) {
	args := []string{"run", "--quiet"}
	if f.url != "" {
		args = append(args, "-e", "BASE_URL="+f.url)
	}
	args = append(append(args, more...), "--vus", strconv.Itoa(f.sessions), "--duration", (f.warmup + f.duration + spare).String(),
		"--system-tags", tools.K6Tags, "--out", "json=-")
	return append(args, script), nil
}

// locust returns the arguments of Locust, which starts all users within a second.
func locust(f *flags, script string, more []string, folder string) ([]string, error) {
	plugin := filepath.Join(folder, "dyno_windows.py")
	if err := os.WriteFile(plugin, tools.LocustPlugin, 0o600); err != nil {
		return nil, err
	}
	n := strconv.Itoa(f.sessions)
	args := append([]string{"-f", script + "," + plugin}, more...)
	if f.url != "" {
		args = append(args, "--host", f.url)
	}
	return append(args, "--headless", "--only-summary", "--users", n, "--spawn-rate", n), nil
}

// New returns the command dyno windows.
func New() *cobra.Command {
	var f flags
	names := []string{"k6", "locust"}
	cmd := &cobra.Command{
		Use:   "windows SCRIPT",
		Short: "Run k6 or Locust as the driver of a scenario's sessions",
		Long: `Windows runs k6 or Locust on a script with a number of virtual users, and prints what the tool measured as windows of
100 ms. A scenario of kind sessions has it as its load.driver; dyno import writes that scenario. What follows -- goes to
the tool. The tool is the program on the PATH, or the one that $K6 or $LOCUST names.

A virtual user waits for each answer, so latency is that of a closed loop, which hides stalls.`,
		Example: "  dyno windows --from k6 --sessions 20 --warmup 1s --duration 10s script.js -- -e TOKEN=abc\n" +
			"  dyno windows --from locust --sessions 20 --warmup 1s --duration 10s --url http://127.0.0.1:8080 locustfile.py",
		Args: cobra.MinimumNArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			t, known := all[f.from]
			switch {
			case f.from == "":
				return usage.Errorf("--from names the tool: %s", strings.Join(names, " or "))
			case !known:
				return usage.Errorf("--from %s is no tool that windows runs; %s", f.from, document.DidYouMean(f.from, names))
			case len(args) > 1 && cmd.ArgsLenAtDash() != 1:
				return usage.Errorf("unexpected argument %q; what is meant for %s follows --", args[1], t.form.Name)
			case f.sessions < 1 || f.sessions > 100_000:
				return usage.Errorf("--sessions %d is not between 1 and 100000", f.sessions)
			case f.duration < time.Second || f.warmup < 0:
				return usage.Errorf("--duration is at least 1s, and --warmup not below 0")
			}
			return f.run(cmd.Context(), t, args[0], args[1:], cmd.OutOrStdout())
		},
	}
	fs := cmd.Flags()
	fs.StringVar(&f.from, "from", "", "tool: "+strings.Join(names, " or "))
	fs.IntVar(&f.sessions, "sessions", 1, "number of virtual users")
	usage.Duration(fs, &f.warmup, "warmup", "", time.Second, "load before the measured time, from the first request")
	usage.Duration(fs, &f.duration, "duration", "", 10*time.Second, "measured time")
	fs.StringVar(&f.url, "url", "", "base URL of the service: Locust's --host, and __ENV.BASE_URL of k6 (default: the script's own)")
	return cmd
}

// find returns the path of the tool's program.
func (t *tool) find() (string, error) {
	name := cmp.Or(os.Getenv(t.variable), t.program)
	path, err := exec.LookPath(name)
	switch {
	case err == nil:
		return path, nil
	case os.Getenv(t.variable) != "":
		return "", fmt.Errorf("$%s names %s, which is no program: %w", t.variable, name, errors.Unwrap(err))
	}
	return "", fmt.Errorf("%s is not installed: there is no program %s on the PATH; install it, or name the program with $%s", t.form.Name, name, t.variable)
}

// run runs the tool and prints windows until the measured time is over.
func (f *flags) run(ctx context.Context, t tool, script string, more []string, stdout io.Writer) (err error) {
	out := windows.NewWriter(stdout)
	defer func() { err = errors.Join(err, out.Close(err)) }()
	program, err := t.find()
	if err != nil {
		return err
	}
	if _, err := os.Stat(script); err != nil {
		return fmt.Errorf("the script of %s: %w; its path counts from the folder in which dyno runs", t.form.Name, err)
	}
	folder, err := os.MkdirTemp("", "dyno-windows-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(folder)
	args, err := t.command(f, script, more, folder)
	if err != nil {
		return err
	}
	reading, writing := io.Pipe()
	child, err := process.Start(ctx, process.Spec{Name: t.form.Name, Command: append([]string{program}, args...), Env: t.env, Redact: redact.Text, Stdout: writing})
	if err != nil {
		return err
	}
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		<-child.Exited()
		writing.Close()
	}()
	plan := load.Plan{Connections: f.sessions, Warmup: f.warmup, Length: f.duration, Drain: drain}
	_, _, err = load.Run(ctx, plan, tools.New(t.form, reading), out)
	if fault := child.Err(); err != nil && ctx.Err() == nil && fault != nil {
		err = fmt.Errorf("%w: %w", err, fault)
	}
	reading.Close() // the tool's further output is discarded
	child.Stop(grace)
	<-ended
	return err
}
