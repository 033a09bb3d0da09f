package daemon

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"slices"

	"github.com/spf13/pflag"

	"dyno/parts/config"
)

// Job is a command that runs to its end under the contract of a service: the same flags,
// environment and file, assembly, locked data folder and debug address, so that the lab can look
// inside. It has no public address and prints no ready line: its stdout is its own. Its log begins
// at level warn, because stderr shows its progress to people.
type Job struct {
	Name    string // of the subcommand
	Short   string // one line
	Long    string
	Example string
	Args    string // what it takes beside flags, as its usage says it ("FILE..."); "": nothing

	// Flags declares what the job takes beyond the contract's flags, as Service.Flags does.
	Flags func(*pflag.FlagSet)

	// Run does the work. SIGTERM and SIGINT end ctx, and then Run has --drain-timeout to stop in good
	// order. If it returns ctx's error, the work was not done: the exit code is 1. It may return nil
	// if stopping after the signal is a regular end.
	Run func(ctx context.Context, env *Env, args []string) error
}

func (s Service) checkJobs() error {
	taken := []string{"serve", "assemblies", "version", "help", "completion"}
	for _, j := range s.Jobs {
		if j.Name == "" || j.Run == nil {
			return fmt.Errorf("job %q declares no Name or no Run", j.Name)
		}
		if slices.Contains(taken, j.Name) {
			return fmt.Errorf("job %s: the name is taken by another command", j.Name)
		}
		taken = append(taken, j.Name)
	}
	return nil
}

func (j Job) long(service string) string {
	return fmt.Sprintf(`%s

Every flag can also be given as an environment variable (--debug as %s_DEBUG) or as a key of the YAML
file given with --config. A flag wins over the environment, that over the file.`, cmp.Or(j.Long, j.Short), config.EnvPrefix(service))
}

// work runs a job until it has finished, fails, or the process receives a signal to stop.
func (s Service) work(ctx context.Context, j Job, o options, args []string, stdout, stderr io.Writer) error {
	ctx, stopWatching := watchSignals(ctx, s.Name, stderr)
	defer stopWatching()
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	p := s.process(o, stderr)
	defer p.close()
	env, err := p.open()
	if err != nil {
		return err
	}
	env.Stdout, env.Stderr = stdout, stderr
	p.phase.Store(ready)
	p.log.Info("running", "job", j.Name, "debug", p.debug.Addr().String())
	finished := make(chan error, 1)
	go func() { finished <- j.Run(ctx, env, args) }() // outlives this only when the process is about to end
	var cause error
	select {
	case err := <-finished:
		finished <- err // it is taken below
	case <-ctx.Done():
	case cause = <-p.failed:
		cancel()
	}
	p.drains()
	grace, stop := context.WithTimeout(context.Background(), o.drainTimeout)
	defer stop()
	return p.ended(ctx, j, cause, p.await(grace, finished, lastWords, p.late()))
}

// ended combines what a job returned with cause, an earlier failure that stopped it; nil: none.
func (p *process) ended(ctx context.Context, j Job, cause, err error) error {
	if cause == nil {
		select {
		case cause = <-p.failed: // as it returned
		default:
		}
	}
	if cause == nil {
		return interrupted(ctx, j.Name, err)
	}
	if ctx.Err() != nil && errors.Is(err, ctx.Err()) {
		return cause
	}
	return errors.Join(cause, err)
}
