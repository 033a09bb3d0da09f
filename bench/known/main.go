// Command known holds dyno bench against programs of which it is known how their benchmarks differ: not
// at all, in the order of their functions alone, by 3%, by one allocation, by what a changelog says. It says
// how often dyno bench is right.
//
// It is not for comparing one's own benchmarks: that is dyno bench.
package main

import (
	"context"
	"errors"
	"io"
	"os"
	"path/filepath"
	"time"

	"dyno/bench/command"
	"dyno/bench/stored"
)

const usage = `Known runs dyno bench on programs of which it is known how their benchmarks differ, and counts how often it is right.

  layouts    benchmarks of the standard library against themselves: how much the order of functions in a binary
             moves each, and how much slices of one binary differ
  equal      the same, several short runs: how many call a benchmark faster or slower (of 100, at most 5 should)
  moved      a commit that only changes the order of functions: how often dyno bench calls it a change, and how
             often benchstat does, of ten runs of each side one after the other
  slower     a commit that makes one of five benchmarks do 3% more, another in each run
  beside     5% more, beside a neighbour that takes one core half of the time
  allocates  one more allocation in one of five benchmarks
  histories  two versions of modules of other authors, whose changelogs say what changed; it downloads them from GOPROXY

It runs in this repository's root. With --json, a later command adds its runs to those in the file, if they are of
the same dyno; layouts and histories replace them.

Usage: go run ./bench/known WHAT [flags]

`

func main() { command.Main("known", run) }

type options struct {
	study  study
	runs   int
	budget time.Duration
	dyno   string
	store  string
}

func parse(args []string, out io.Writer) (*options, error) {
	o := &options{}
	f := command.Flags("known", usage, out)
	f.IntVar(&o.runs, "runs", 0, "how often to run dyno bench (default: what the study needs)")
	f.DurationVar(&o.budget, "budget", 0, "time limit of each run of dyno bench (default: what the study needs)")
	f.StringVar(&o.dyno, "dyno", "", "dyno to run, such as one of a clean clone (default: built from here)")
	f.StringVar(&o.store, "json", "", "file for the result, or to add to")
	if err := command.Parse(f, args); err != nil {
		return nil, err
	}
	if f.NArg() != 1 {
		f.Usage()
		return nil, command.Wrong("name one study, as in: go run ./bench/known slower")
	}
	var known bool
	if o.study, known = studies[f.Arg(0)]; !known {
		return nil, command.Wrong("there is no study %q: name layouts, equal, moved, slower, beside, allocates or histories", f.Arg(0))
	}
	o.study.name = f.Arg(0)
	if f.Changed("runs") {
		o.study.runs = o.runs
	}
	if f.Changed("budget") {
		o.study.budget = o.budget
	}
	if o.study.runs < 1 || o.study.runs > 1000 {
		return nil, command.Wrong("--runs takes 1 to 1000, not %d", o.study.runs)
	}
	return o, nil
}

func run(ctx context.Context, args []string, out io.Writer) error {
	o, err := parse(args, out)
	if err != nil {
		return err
	}
	dir, err := os.MkdirTemp("", "known-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(dir)
	if o.dyno, err = command.Dyno(ctx, o.dyno, dir); err != nil {
		return err
	}
	if o.dyno, err = filepath.Abs(o.dyno); err != nil {
		return err
	}
	commit, modified, err := stored.Revision(o.dyno)
	if err != nil {
		return err
	}
	t := &tally{}
	began := stored.Watch()
	err = o.study.count(ctx, o, filepath.Join(dir, "program"), t)
	if len(t.rows) == 0 {
		return err
	}
	found := results{Schema: "dyno.known/1", Steps: t.rows, Made: began.Made(commit, modified, o.command(), []string{"dyno/cmd/dyno"})}
	if o.store != "" {
		if found, err = found.keep(o.store, err); err != nil {
			return err
		}
	}
	return errors.Join(err, found.show(out))
}

// command makes the result again. Runs of another budget are of another command, so their counts are not added; how many
// runs there are is in the rows.
func (o *options) command() []string {
	words := []string{"go", "run", "./bench/known", o.study.name}
	if o.study.budget != studies[o.study.name].budget {
		words = append(words, "--budget", o.study.budget.String())
	}
	return words
}
