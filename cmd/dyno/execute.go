package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"time"
	"unicode"

	"dyno/cmd/dyno/request"
	"dyno/cmd/dyno/usage"
	"dyno/lab/escape"
	"dyno/lab/experiment"
	"dyno/lab/record"
	"dyno/lab/report"
	"dyno/lab/report/html"
	"dyno/lab/report/jsonv1"
	"dyno/lab/report/progress"
	"dyno/lab/report/screen"
	"dyno/lab/report/text"
	"dyno/lab/scenario"

	"github.com/spf13/cobra"
	"golang.org/x/term"
)

// common holds the flags and the state that all measuring commands share.
type common struct {
	out             string
	json            bool
	explain         bool
	quick, thorough bool
	budget          time.Duration
	allowHost       bool
	noPMQoS         bool
	agents          agentFlags
	cmd             *cobra.Command
	exp             *record.Experiment // the experiment that was measured or read last; nil: none
	unwritten       error              // why the experiment's folder is incomplete; nil: it is complete
}

func (c *common) register(cmd *cobra.Command) {
	c.cmd = cmd
	f := cmd.Flags()
	f.StringVar(&c.out, "out", "", "folder for the record and the report (default dyno-out/NAME-TIME)")
	f.BoolVar(&c.json, "json", false, "print one JSON object on stdout, whatever the exit code")
	f.BoolVar(&c.allowHost, "i-may-load-this-host", false, "permit a target beyond loopback; needed once for each host")
	c.agents.Register(f)
	f.BoolVar(&c.noPMQoS, "no-pm-qos", false, "let virtual CPUs halt while measuring; for hosts that count CPU credits")
}

func (c *common) registerDepth(cmd *cobra.Command) {
	f := cmd.Flags()
	f.BoolVar(&c.quick, "quick", false, "shorter measurement with wider intervals")
	f.BoolVar(&c.thorough, "thorough", false, "narrow intervals (5 to 20 minutes); for a ladder, also measure the last step without each single change")
	cmd.MarkFlagsMutuallyExclusive("quick", "thorough")
}

// registerBudget adds --budget, for experiments that are measured in turns. Other experiments end
// with their plan.
func (c *common) registerBudget(cmd *cobra.Command) {
	usage.Duration(cmd.Flags(), &c.budget, "budget", "", 0, "time limit of the measurement, without building (default 4m for a ladder or a comparison, 90s for a capacity)")
}

func (c *common) depth() experiment.Depth {
	switch {
	case c.quick:
		return experiment.Quick
	case c.thorough:
		return experiment.Thorough
	}
	return experiment.Default
}

// ignore makes git ignore the default folder of runs.
func ignore(run string) error {
	if filepath.Dir(run) != request.OutFolder {
		return nil
	}
	file := filepath.Join(request.OutFolder, ".gitignore")
	if _, err := os.Stat(file); err == nil {
		return nil
	}
	return os.WriteFile(file, []byte("*\n"), 0o644)
}

// folder returns the output folder; by default its name sorts by time.
func (c *common) folder(name string) string {
	if c.out != "" {
		return c.out
	}
	dir := filepath.Join(request.OutFolder, fileName(name)+"-"+time.Now().Format("20060102-150405"))
	for n, free := 2, dir; ; n++ { // there may be other folders of the same second
		if _, err := os.Stat(free); err != nil {
			return free
		}
		free = fmt.Sprintf("%s-%d", dir, n)
	}
}

// fileName makes a name safe for a file system.
func fileName(name string) string {
	return strings.Trim(strings.Map(func(c rune) rune {
		if unicode.IsLetter(c) || unicode.IsDigit(c) || strings.ContainsRune("._", c) {
			return c
		}
		return '-'
	}, name), "-")
}

// execute runs an experiment, writes its report and prints the result. judge derives the
// command's own verdict from the report: nil, or an error with its exit code.
func (c *common) execute(ctx context.Context, o experiment.Options, judge func(*report.Report) error) error {
	exp, rep, err := c.measure(ctx, o)
	if c.exp = exp; rep == nil {
		return err
	}
	err = c.show(ctx, exp, rep, err, judge)
	if c.unwritten != nil { // the result has been printed in any case
		fmt.Fprintf(c.cmd.ErrOrStderr(), "dyno: only what is printed above is left of the experiment; its folder could not be written: %v\n", c.unwritten)
		err = cmp.Or(err, error(&exit{code: exitFailed}))
	}
	return err
}

// show prints the result of an experiment that ended with err, and returns the command's error.
func (c *common) show(ctx context.Context, exp *record.Experiment, rep *report.Report, err error, judge func(*report.Report) error) error {
	if len(exp.Runs)+len(exp.Slices) > 0 || c.json || ctx.Err() != nil || errors.Is(err, experiment.ErrNoSuccess) { // otherwise the error says enough
		if showErr := c.print(rep); showErr != nil {
			return errors.Join(err, showErr)
		}
	}
	if ended := outcome(exp.Ended()); ended != nil {
		if err != nil && exp.Ended().Status == record.OutcomeFailed {
			return err // err has more detail, such as the end of a log
		}
		return ended
	}
	if judge != nil {
		return judge(rep)
	}
	return nil
}

// measure runs an experiment and writes its report. The report is nil if there is nothing to
// show.
func (c *common) measure(ctx context.Context, o experiment.Options) (*record.Experiment, *report.Report, error) {
	o.Permit, o.Depth, o.NoPMQoS = c.permit, c.depth(), c.noPMQoS
	const least = 10 * time.Second // enough to start a program and give it a turn
	if o.Budget = c.budget; c.budget != 0 && c.budget < least {
		return nil, nil, usage.Errorf("--budget takes %v or more, not %v", least, c.budget)
	}
	o.Command = append([]string{"dyno"}, os.Args[1:]...)
	o.Out = cmp.Or(o.Out, c.folder(o.Scenario.Name))
	view := progress.New(os.Stderr)
	o.Progress = view
	release, err := c.agents.Gather(ctx, &o, agentsVersion())
	if err != nil {
		view.End()
		return nil, nil, err
	}
	defer release()
	exp, err := experiment.Execute(ctx, o)
	view.End()
	if fault := new(scenario.Fault); errors.As(err, &fault) && (exp == nil || len(exp.Runs)+len(exp.Slices) == 0) {
		return nil, nil, usage.Of(err)
	}
	if exp == nil {
		return nil, nil, err
	}
	rep := report.Build(exp)
	if c.unwritten = exp.Unwritten; c.unwritten == nil && exp.Dir != "" {
		c.unwritten = errors.Join(ignore(o.Out), writeReports(rep, o.Out))
	}
	if c.unwritten != nil {
		rep.Out = ""
	}
	return exp, rep, err
}

// outcome returns the error, with its exit code, for an experiment's outcome; nil: the experiment
// is complete.
func outcome(o record.Outcome) *exit {
	switch o.Status {
	case record.OutcomeComplete:
		return nil
	case record.OutcomeInvalid:
		return &exit{exitInvalid, fmt.Errorf("%w: %s", experiment.ErrUnfit, o.Reason)}
	case record.OutcomeInterrupted:
		return &exit{exitFailed, errInterrupted}
	}
	return &exit{exitFailed, errors.New(o.Reason)}
}

// print prints the result: as JSON if --json was given, otherwise as text.
func (c *common) print(rep *report.Report) error {
	if c.json {
		return jsonv1.Write(c.cmd.OutOrStdout(), rep)
	}
	style := styleOf(os.Stdout)
	style.Explain = c.explain
	return text.Terminal(screen.Below(c.cmd.OutOrStdout()), rep, style)
}

// styleOf returns the style for a file: the terminal's width, and colours unless NO_COLOR is set.
func styleOf(f *os.File) text.Style {
	width, _, err := term.GetSize(int(f.Fd()))
	if err != nil {
		return text.Style{}
	}
	return text.Style{Color: os.Getenv("NO_COLOR") == "" && os.Getenv("TERM") != "dumb", Width: width}
}

// terminal returns where a command lists its findings as text.
func terminal(cmd *cobra.Command) escape.Terminal {
	style := styleOf(os.Stdout)
	return escape.Terminal{W: screen.Below(cmd.OutOrStdout()), Color: style.Color, Width: style.Width}
}

func writeReports(rep *report.Report, dir string) error {
	if err := writeFile(filepath.Join(dir, report.PageFile), rep, html.Page); err != nil {
		return err
	}
	return writeFile(filepath.Join(dir, report.MarkdownFile), rep, text.Markdown)
}
