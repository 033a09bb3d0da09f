package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"time"

	"dyno/lab/experiment"
	"dyno/lab/record"
	"dyno/lab/report"
	"dyno/lab/scenario"

	"github.com/spf13/cobra"
	"golang.org/x/term"
)

// common is the flags that every measuring command has.
type common struct {
	out             string
	json            bool
	quick, thorough bool
	allowHost       bool
	cmd             *cobra.Command
}

func (c *common) register(cmd *cobra.Command) {
	c.cmd = cmd
	f := cmd.Flags()
	f.StringVar(&c.out, "out", "", "folder for the record and the report (default dyno-out/NAME-TIME)")
	f.BoolVar(&c.json, "json", false, "print one JSON object on stdout, whatever the exit code")
	f.BoolVar(&c.allowHost, "i-may-load-this-host", false, "permit a target beyond loopback; needed once for each host")
}

func (c *common) registerDepth(cmd *cobra.Command) {
	f := cmd.Flags()
	f.BoolVar(&c.quick, "quick", false, "least time, no intervals")
	f.BoolVar(&c.thorough, "thorough", false, "as much time as narrow intervals need; a ladder's steps are each left out once")
	cmd.MarkFlagsMutuallyExclusive("quick", "thorough")
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

// folder returns where to write, under a name that sorts by time.
func (c *common) folder(name string) string {
	if c.out != "" {
		return c.out
	}
	dir := filepath.Join("dyno-out", name+"-"+time.Now().Format("20060102-150405"))
	for n, free := 2, dir; ; n++ { // a second one within the second
		if _, err := os.Stat(free); err != nil {
			return free
		}
		free = fmt.Sprintf("%s-%d", dir, n)
	}
}

// isTarget reports whether an argument is a URL rather than a scenario file.
func isTarget(arg string) bool {
	return strings.HasPrefix(arg, "http://") || strings.HasPrefix(arg, "https://")
}

// readScenario reads a scenario file; what is wrong with it is a usage error.
func readScenario(path string) (*scenario.Scenario, error) {
	sc, err := scenario.Open(path)
	if err != nil {
		return nil, &exit{exitUsage, err}
	}
	return sc, nil
}

// execute runs an experiment, writes its report and prints the result. The judge turns the report into
// the command's own verdict: nil, or an error with its exit code.
func (c *common) execute(ctx context.Context, o experiment.Options, judge func(*report.Report) error) error {
	o.Permit, o.Depth = c.permit, c.depth()
	o.Command = append([]string{"dyno"}, os.Args[1:]...)
	if o.Out == "" {
		o.Out = c.folder(o.Scenario.Name)
	}
	view := newProgress(os.Stderr)
	o.Progress = view
	exp, err := experiment.Execute(ctx, o)
	view.end()
	if fault := new(experiment.ScenarioError); errors.As(err, &fault) {
		return &exit{exitUsage, err}
	}
	if exp == nil {
		return err
	}
	rep := report.Build(exp)
	if len(exp.Runs) == 0 {
		if err == nil || !c.json {
			return err
		}
		rep.Invalid = record.Redact(err.Error())
		return errors.Join(err, c.print(rep))
	}
	if writeErr := writeReports(rep, o.Out); writeErr != nil {
		return errors.Join(err, writeErr)
	}
	if showErr := c.print(rep); showErr != nil {
		return errors.Join(err, showErr)
	}
	switch {
	case errors.Is(err, experiment.ErrUnfit):
		return &exit{exitInvalid, err}
	case err != nil:
		return err
	case rep.Invalid != "": // every run counted, and yet they show nothing
		return &exit{exitInvalid, fmt.Errorf("%w: %s", experiment.ErrUnfit, rep.Invalid)}
	case judge != nil:
		return judge(rep)
	}
	return nil
}

// print prints the result: JSON for machines, a table for people.
func (c *common) print(rep *report.Report) error {
	if c.json {
		return report.JSON(c.cmd.OutOrStdout(), rep)
	}
	return report.Terminal(c.cmd.OutOrStdout(), rep, styleOf(os.Stdout))
}

// styleOf returns how to write to f: colours and width are a terminal's, and NO_COLOR is respected.
func styleOf(f *os.File) report.Style {
	width, _, err := term.GetSize(int(f.Fd()))
	if err != nil {
		return report.Style{}
	}
	return report.Style{Color: os.Getenv("NO_COLOR") == "" && os.Getenv("TERM") != "dumb", Width: width}
}

// Files that a report is written to, beside the record.
const (
	htmlFile     = "report.html"
	markdownFile = "report.md"
)

func writeReports(rep *report.Report, dir string) error {
	if err := writeFile(filepath.Join(dir, htmlFile), rep, report.HTML); err != nil {
		return err
	}
	return writeFile(filepath.Join(dir, markdownFile), rep, report.Markdown)
}
