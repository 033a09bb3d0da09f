// Command verdicts diagnoses programs that others wrote, under loads whose bound is known: a change
// that relieves that bound, and nothing else, is compared with the program as it is, in turns.
//
// programs.yaml lists the programs, what bounds each load and how that shows; loads has a scenario for
// each, which dyno also takes without this command. It owns every process that it starts.
package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"text/tabwriter"
	"time"

	"dyno/bench/command"
	"dyno/bench/stored"
)

const usage = `Verdicts diagnoses programs that others wrote, and prints for each load what bounds it, what dyno says, and whether that
is right. What bounds a load was established by a change that relieves it: the variant "changed" of its scenario, which is
compared with "as-is" in turns each time. A verdict counts as right only if that carries at least 1.2 times as much.

Each program is built once, up to an hour for all of them, into a folder of the user's cache; one that cannot be fetched or built is
skipped, with the reason. It runs in this repository's root and takes up to three minutes per load. With that folder in PATH, each load
runs without it (where data are in memory, after mkdir -p /dev/shm/dyno-verdicts):

  PATH="$(go run ./bench/verdicts --programs etcd):$PATH" dyno diagnose --variant as-is bench/verdicts/loads/etcd-put.yaml
  PATH="$(go run ./bench/verdicts --programs etcd):$PATH" dyno compare --metric work bench/verdicts/loads/etcd-put.yaml

Usage: go run ./bench/verdicts [PROGRAM|LOAD]... [flags]

`

func main() { command.Main("verdicts", run) }

type options struct {
	only             []string
	out, store, dyno string
	repeats          int
	beside, programs bool

	commit   string // of the dyno that runs; empty: it is not known
	modified bool
}

func parse(args []string, out io.Writer) (o *options, err error) {
	o = &options{}
	f := command.Flags("verdicts", usage, out)
	f.StringVar(&o.out, "out", "", "folder for the records (default dyno-out/verdicts-TIME)")
	f.StringVar(&o.store, "json", "", "file that keeps the result of each load; those of loads that are not run again stay")
	f.StringVar(&o.dyno, "dyno", "", "dyno to run, such as one of a clean clone (default: built from here)")
	f.IntVar(&o.repeats, "repeats", 1, "diagnoses of each load; the worst counts")
	f.BoolVar(&o.beside, "beside-burn", false, "diagnose beside a neighbour that takes one core half of the time")
	f.BoolVar(&o.programs, "programs", false, "build the programs, print their folder and end")
	if err := command.Parse(f, args); err != nil {
		return nil, err
	}
	if o.repeats < 1 || o.repeats > 100 {
		return nil, command.Wrong("--repeats takes 1 to 100, not %d", o.repeats)
	}
	if o.only = f.Args(); o.out == "" {
		o.out = filepath.Join("dyno-out", "verdicts-"+time.Now().Format("20060102-150405"))
	}
	return o, nil
}

func run(ctx context.Context, args []string, out io.Writer) error {
	o, err := parse(args, out)
	if err != nil {
		return err
	}
	bin, err := programsFolder()
	if err != nil {
		return err
	}
	all, err := chosen(o.only)
	if err != nil {
		return command.Wrong("%w", err)
	}
	if o.programs {
		for _, p := range all {
			if err := p.build(ctx, bin); err != nil {
				command.Say("skipped: %s: %v", p.Name, err)
			}
		}
		_, err := fmt.Fprintln(out, bin)
		return err
	}
	if err := os.MkdirAll(o.out, 0o755); err != nil {
		return err
	}
	if o.dyno, err = command.Dyno(ctx, o.dyno, o.out); err != nil {
		return err
	}
	if o.commit, o.modified, err = stored.Revision(o.dyno); err != nil {
		return err
	}
	os.Setenv("PATH", bin+string(os.PathListSeparator)+os.Getenv("PATH"))
	defer os.RemoveAll(inMemory)
	var rows []row
	for _, p := range all {
		if err := p.build(ctx, bin); err != nil {
			command.Say("skipped: %s: %v", p.Name, err)
			continue
		}
		for _, l := range p.Loads {
			r, err := o.judge(ctx, p, l)
			if ctx.Err() != nil {
				return errors.Join(ctx.Err(), show(out, rows))
			}
			if err != nil {
				command.Say("skipped: %s: %v", l.Name, err)
				continue
			}
			command.Say("%s: %s: %s", l.Name, r.Judged, r.Said)
			if rows = append(rows, r); o.store != "" {
				if err := r.keep(o.store, o.madeBy(r)); err != nil {
					return err
				}
			}
		}
	}
	if err := show(out, rows); err != nil {
		return err
	}
	if n := count(rows, wrong); n > 0 {
		return fmt.Errorf("%d of %d verdicts are wrong", n, len(rows))
	}
	return nil
}

// madeBy returns what a table says of where it is from: the dyno that judged, the machine and the command
// line, without paths of this machine.
func (o *options) madeBy(r row) map[string]any {
	words := []string{"go", "run", "./bench/verdicts"}
	if o.repeats > 1 {
		words = append(words, fmt.Sprint("--repeats=", o.repeats))
	}
	if o.beside {
		words = append(words, "--beside-burn")
	}
	made := map[string]any{} // a comparison may have none
	maps.Copy(made, r.made)
	made["command"], made["packages"] = words, []string{"dyno/cmd/dyno"}
	made["commit"] = r.Commit
	return made
}

// judge diagnoses a load as it is and compares it with its change.
func (o *options) judge(ctx context.Context, p program, l bound) (r row, err error) {
	file := l.file()
	if err := errors.Join(os.RemoveAll(inMemory), os.MkdirAll(inMemory, 0o700)); err != nil {
		return r, err
	}
	r = row{Name: l.Name, Program: p.Name + " " + p.version(), Kind: p.Kind, Truth: l.Truth, Repeats: o.repeats, Commit: o.commit, Run: stored.Run{Modified: o.modified}}
	for n := range o.repeats {
		command.Say("%s: diagnosing, %d of %d", l.Name, n+1, o.repeats)
		var d diagnosis
		if err := o.dynoJSON(ctx, &d, fmt.Sprintf("%s-%d", l.Name, n+1), o.beside, "diagnose", "--variant", asIs, file); err != nil {
			return r, err
		}
		r.add(l, d)
	}
	command.Say("%s: comparing with its change in turns", l.Name)
	var c comparison
	if err := o.dynoJSON(ctx, &c, l.Name+"-turns", false, "compare", "--metric", "work", "--budget", compareFor, file); err != nil {
		return r, err
	}
	return r, r.compare(c)
}

// inMemory is where some scenarios keep data in memory. It must exist.
const inMemory = "/dev/shm/dyno-verdicts"

// compareFor limits the comparison of one load with its change.
const compareFor = "150s"

// dynoJSON runs dyno, and reads the object that it prints also when its exit code says that it is
// not satisfied with the measurement.
func (o *options) dynoJSON(ctx context.Context, into any, folder string, beside bool, args ...string) error {
	if beside {
		defer command.Burn()()
	}
	return command.Object(exec.CommandContext(ctx, o.dyno, append([]string{args[0], "--quick", "--json", "--out", filepath.Join(o.out, folder)}, args[1:]...)...), into)
}

// show prints a row for each load, and how many are right.
func show(out io.Writer, rows []row) error {
	t := tabwriter.NewWriter(out, 0, 0, 2, ' ', 0)
	fmt.Fprintln(t, "load\tprogram\tkind\tverdict\tplace\tsure\twhat was changed\tcarries\tjudged\tthe same")
	for _, r := range rows {
		fmt.Fprintf(t, "%s\t%s\t%s\t%s\t%s\t%s\t%s\t%.2fx [%.2f, %.2f]\t%s\t%d of %d\n", r.Name, r.Program, r.Kind, r.BoundBy, r.Place, r.Sure, r.Change, r.Ratio, r.Interval[0], r.Interval[1], r.Judged, r.Same, r.Repeats)
	}
	if err := t.Flush(); err != nil {
		return err
	}
	var counts []string
	for _, j := range []string{right, wrong, unknown, noUse, unproven} {
		counts = append(counts, fmt.Sprintf("%d %s", count(rows, j), j))
	}
	_, err := fmt.Fprintf(out, "%d loads: %s\n", len(rows), strings.Join(counts, ", "))
	return err
}

func count(rows []row, judged string) int {
	return len(slices.DeleteFunc(slices.Clone(rows), func(r row) bool { return r.Judged != judged }))
}
