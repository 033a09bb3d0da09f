package tuning

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"os"
	"os/exec"
	"runtime"
	"slices"
	"strings"
	"time"

	"dyno/lab/record"
	"dyno/lab/scenario"
	"dyno/lab/scenario/document"
	"dyno/lab/tune"
)

// variant returns the start configuration with a candidate's changes.
func (t *tuning) variant(c tune.Candidate) scenario.Variant {
	v := t.start
	v.Name, v.Change, v.Why = c.String(), "", ""
	v.Args, v.Env = slices.Clone(v.Args), maps.Clone(v.Env)
	for _, change := range c {
		switch change.Kind {
		case tune.Setting:
			v.Args = append(v.Args, "--set", change.Name+"="+change.Value)
		case tune.Runtime:
			if v.Env == nil {
				v.Env = map[string]string{}
			}
			v.Env[change.Name] = change.Value
		case tune.PGO:
			v.PGO = t.profile
		}
	}
	return v
}

// plan collects the candidates and plans the search.
func (t *tuning) plan(ctx context.Context) error {
	target := t.out.Look.Runs
	p := tune.Program{Procs: runtime.NumCPU(), RSS: resident(t.out.Look, t.start.Name), Runtime: map[string]string{}, Fixed: t.setByLoad,
		Memory: int64(t.out.Look.Machine.MemoryGiB * (1 << 30))}
	for _, name := range []string{"GOGC", "GOMEMLIMIT", "GOMAXPROCS"} {
		p.Runtime[name] = os.Getenv(name)
	}
	maps.Copy(p.Runtime, t.base.Scenario.TargetOf(t.start).Env)
	if i := slices.IndexFunc(target, func(r *record.Run) bool { return r.Spec.Role == record.RoleProfile }); i >= 0 {
		t.declared(ctx, &p, target[i].Target)
	} else {
		t.note("the program's own settings are not tried: " + cmp.Or(strings.Join(t.out.Look.Warnings, "; "), "it could not be profiled"))
	}
	if t.out.Build == "" && len(t.settings) > 0 && t.asked(tune.PGO) {
		t.note("pgo: the scenario starts a command; with target.build the program can be built anew")
	}
	if t.profile != "" {
		p.Profiled = t.buildWithProfile(ctx)
	}
	if ctx.Err() != nil {
		return ctx.Err()
	}
	singles, notes, err := p.Singles(t.settings)
	if err != nil {
		return &scenario.Fault{Err: fmt.Errorf("--only: %w", meant(err))}
	}
	for _, n := range notes {
		t.note(n)
	}
	if len(singles) == 0 {
		return &scenario.Fault{Err: fmt.Errorf("there is nothing to try: %s", cmp.Or(strings.Join(t.out.Notes, "; "), "no setting has another value"))}
	}
	room := t.room(len(singles))
	t.planner = tune.New(singles, room)
	t.base.Progress.Say(fmt.Sprintf("%d changes to try, in groups of %d, each at least %v of %v", len(singles), room.Slots, room.Least.Round(time.Second), (time.Until(t.ends) - t.proof).Round(time.Second)))
	return nil
}

// meant adds, to an error about an unknown setting, the known one with the most similar name.
func meant(err error) error {
	if unknown := (*tune.UnknownError)(nil); errors.As(err, &unknown) {
		names := strings.Split(strings.ToLower(strings.Join(unknown.Known, " ")), " ") // compared without regard to case
		if near, ok := document.Nearest(strings.ToLower(unknown.Name), names); ok {
			return fmt.Errorf("no setting is called %q; did you mean %s? There are %s", unknown.Name, near, strings.Join(unknown.Known, ", "))
		}
	}
	return err
}

// wantsPGO reports whether the search tries a build with a profile (PGO).
func (t *tuning) wantsPGO() bool {
	return t.out.Build != "" && t.asked(tune.PGO)
}

// asked reports whether the user has named a setting, or has named none.
func (t *tuning) asked(name string) bool {
	return len(t.settings) == 0 || slices.ContainsFunc(t.settings, func(s string) bool { return strings.EqualFold(s, name) })
}

// room returns how many of n candidates are measured in a group together with the start, such
// that the time suffices for two rounds.
func (t *tuning) room(n int) tune.Room {
	most := slots
	switch {
	case t.perRun > 0:
		most = slotsOfRuns
	case t.alone():
		most = slotsAlone
	}
	const combined = 4 // room for combinations of a few changes
	most = min(most, max(n, combined))
	for most > 1 && 2*t.least(most) > time.Until(t.ends)-t.proof {
		most--
	}
	return tune.Room{Slots: most, Least: t.least(most)}
}

// least returns the shortest useful time for a group of n candidates.
func (t *tuning) least(n int) time.Duration {
	n += 2                       // the start and its control
	const turn = 2 * time.Second // some work slices and the pauses between them
	switch {
	case t.perRun > 0:
		return time.Duration(n) * t.perRun
	case t.alone():
		return max(t.pace.alone, 2*time.Duration(n)*(t.starting+turn)) + t.overhead
	}
	return max(t.pace.group, time.Duration(n)*(t.starting+turn)) + t.overhead
}

// alone reports whether only one process may be up at a time.
func (t *tuning) alone() bool { return t.base.Scenario.Exclusive || t.base.Scenario.OneAddress() }

// setByLoad reports whether the job's own arguments set a setting, so that a candidate's value
// has no effect.
func (t *tuning) setByLoad(name string) bool {
	job := t.base.Scenario.LoadOf(t.start).Job
	return job != nil && slices.ContainsFunc(job.Args, func(a string) bool { return strings.HasPrefix(a, name+"=") })
}

// declared adds the settings that the program declares. It asks only a service that reports its
// assembly: any other program might simply start when it is run with the command that prints
// them.
func (t *tuning) declared(ctx context.Context, p *tune.Program, target record.Target) {
	switch {
	case target.NotGo:
		t.note("the program is not built by Go: it ignores the settings of Go's runtime")
		return
	case target.Procs > 0:
		p.Procs = target.Procs
	}
	if len(target.Assembly) == 0 || len(target.Command) == 0 {
		return
	}
	values, err := tune.ParseResolved(target.Assembly)
	var printed []byte
	if err == nil {
		printed, err = t.assemblies(ctx)
	}
	if err == nil {
		p.Declared, err = tune.ParseDeclared(printed)
	}
	if err != nil {
		t.note(fmt.Sprintf("the program's own settings are not tried: %v", err))
		return
	}
	p.Values = values
}

// Limits on the time and the output of a service that prints its settings.
const (
	printTime = 10 * time.Second
	printMost = 4 << 20
)

// assemblies returns what the program prints when run with "assemblies --json".
func (t *tuning) assemblies(ctx context.Context) ([]byte, error) {
	target := t.base.Scenario.TargetOf(t.start)
	program := ""
	if target.Build != "" {
		var err error
		if program, err = t.base.Binaries.Build(ctx, t.base.Scenario.Root, target.Build, "", t.base.Progress.Say); err != nil {
			return nil, err
		}
	} else {
		program = target.Command[0]
	}
	ctx, cancel := context.WithTimeout(ctx, printTime)
	defer cancel()
	cmd := exec.CommandContext(ctx, program, "assemblies", "--json")
	cmd.WaitDelay = time.Second
	if target.Dir != "" {
		cmd.Dir = t.base.Scenario.Resolve(target.Dir)
	}
	var out bytes.Buffer
	cmd.Stdout = &limited{w: &out, left: printMost}
	if err := cmd.Run(); err != nil {
		return nil, fmt.Errorf("%s assemblies --json: %w", program, err)
	}
	return out.Bytes(), nil
}

// limited is a writer that fails beyond a number of bytes.
type limited struct {
	w    io.Writer
	left int
}

func (l *limited) Write(b []byte) (int, error) {
	if l.left -= len(b); l.left < 0 {
		return 0, fmt.Errorf("it printed more than %d MiB", printMost>>20)
	}
	return l.w.Write(b)
}

// profiledBuild bounds a build with a profile. Such a build compiles every package anew, which
// takes a minute for a service on two free cores.
const profiledBuild = 10 * time.Minute

// buildWithProfile builds the target with the start's CPU profile. The time does not count
// against the budget.
func (t *tuning) buildWithProfile(ctx context.Context) bool {
	began := time.Now()
	defer func() { t.ends = t.ends.Add(time.Since(began)) }()
	ctx, cancel := context.WithTimeout(ctx, profiledBuild)
	defer cancel()
	t.base.Progress.Say("a build with the profile compiles every package anew, which takes minutes")
	if _, err := t.base.Binaries.Build(ctx, t.base.Scenario.Root, t.out.Build, t.profile, t.base.Progress.Say); err != nil {
		t.note("pgo: " + firstLine(err.Error()))
		return false
	}
	return true
}
