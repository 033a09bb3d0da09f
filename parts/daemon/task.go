package daemon

import (
	"context"
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/spf13/pflag"

	"dyno/parts/config"
	"dyno/parts/refusal"
)

// Task is serve, or a job: what runs under the contract, with its flags. A command line
// (parts/command) shows them; Run does without one.
type Task struct {
	Name, Short, Long, Example string

	Args  string // what it takes beside flags, as Job.Args; "": nothing
	Flags *pflag.FlagSet

	service   Service
	env       func(string) (string, bool)
	options   options
	elsewhere []string // flags of the service's other tasks, which read the same file
	run       func(ctx context.Context, o options, args []string) error
}

// Tasks returns serve, if the service can start, and then the jobs, each to be run once. They read
// the environment through env.
func (s Service) Tasks(env func(string) (string, bool), stdout, stderr io.Writer) []*Task {
	var tasks []*Task
	if s.Start != nil {
		tasks = append(tasks, s.serving(stdout, stderr))
	}
	for _, j := range s.Jobs {
		tasks = append(tasks, s.job(j, stdout, stderr))
	}
	for _, t := range tasks {
		t.service, t.env = s, env
		for _, other := range tasks {
			other.Flags.VisitAll(func(f *pflag.Flag) {
				if t.Flags.Lookup(f.Name) == nil {
					t.elsewhere = append(t.elsewhere, f.Name)
				}
			})
		}
	}
	return tasks
}

func newFlags(name string) *pflag.FlagSet {
	f := pflag.NewFlagSet(name, pflag.ContinueOnError)
	f.SortFlags = false
	f.Usage = func() {}
	return f
}

func (s Service) serving(stdout, stderr io.Writer) *Task {
	t := &Task{
		Name:  "serve",
		Short: "Run the service",
		Long: fmt.Sprintf(`Every flag can also be given as an environment variable (--listen as %s_LISTEN) or as a key of the
YAML file given with --config (listen: 127.0.0.1:8080). A flag wins over the environment, that over the file.
When it is ready, %s prints one JSON line with the addresses it is bound to. Logs go to stderr.`,
			config.EnvPrefix(s.Name), s.Name),
		Example: s.servingExample(),
		Flags:   newFlags("serve"),
		run:     func(ctx context.Context, o options, _ []string) error { return s.serve(ctx, o, stdout, stderr) },
	}
	t.options.declare(t.Flags, s)
	if s.Flags != nil {
		s.Flags(t.Flags)
	}
	return t
}

// servingExample returns the lines of the service's examples that are about serve.
func (s Service) servingExample() string {
	var lines []string
	for line := range strings.Lines(s.Example) {
		if strings.HasPrefix(strings.TrimSpace(line), s.Name+" serve") {
			lines = append(lines, strings.TrimRight(line, "\n"))
		}
	}
	return strings.Join(lines, "\n")
}

func (s Service) job(j Job, stdout, stderr io.Writer) *Task {
	t := &Task{Name: j.Name, Short: j.Short, Long: j.long(s.Name), Example: j.Example, Args: j.Args, Flags: newFlags(j.Name),
		run: func(ctx context.Context, o options, args []string) error {
			return s.work(ctx, j, o, args, stdout, stderr)
		}}
	if j.Flags != nil {
		j.Flags(t.Flags) // first, so that the help begins with the job's own
	}
	t.options.declareJob(t.Flags, s)
	return t
}

// Run completes the flags, which have been parsed, from environment and file, and runs the task.
func (t *Task) Run(ctx context.Context, args []string) error {
	if err := t.options.complete(t.Flags, t.service, t.env, t.elsewhere); err != nil {
		return Usage(err)
	}
	return t.run(ctx, t.options, args)
}

// Run runs serve or a job, by its name and flags, without a command line around it, and returns the
// exit code. It ends when the task does; the end of ctx counts as the first SIGTERM. It is for
// programs that embed a service, and for tests.
func Run(ctx context.Context, s Service, args []string, env func(string) (string, bool), stdout, stderr io.Writer) int {
	err := s.Check()
	if err == nil {
		err = s.runTask(ctx, args, s.Tasks(env, stdout, stderr))
	}
	return ExitCode(s.Name, err, stderr)
}

func (s Service) runTask(ctx context.Context, args []string, tasks []*Task) error {
	var name string
	if len(args) > 0 {
		name, args = args[0], args[1:]
	}
	i := slices.IndexFunc(tasks, func(t *Task) bool { return t.Name == name })
	if i < 0 {
		var names []string
		for _, t := range tasks {
			names = append(names, t.Name)
		}
		return Usage(refusal.Unknown("task", name, names...))
	}
	t := tasks[i]
	if err := t.Flags.Parse(args); err != nil {
		return Usage(config.FlagError(err))
	}
	if args = t.Flags.Args(); len(args) > 0 && t.Args == "" {
		return Usage(fmt.Errorf("%s takes no arguments, not even %q", name, args[0]))
	}
	return t.Run(ctx, args)
}
