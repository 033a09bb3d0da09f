// Command plain diagnoses the first program of each service, raft without batches, and the stages of
// chaind as it is, and keeps what bounds them and where their CPU goes, beside the shares that the
// service's source has of its own.
//
// It is not for judging the diagnosis: bench/calibrate and bench/verdicts do. It owns every process
// that it starts.
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
	"dyno/lab/record/folder"
)

const usage = `Plain runs dyno diagnose --variant plain with the scenario of each service, and --variant unbatched with chain-unbatched
(raft) and loop with chain (stages), and prints what bounds the program, and the shares of its CPU. It runs in this repository's root, and
takes some minutes for each.

Usage: go run ./bench/claims/plain [chain|ledger|orders|notify|arena|raft|stages]... [flags]

`

func main() { command.Main("plain", run) }

func run(ctx context.Context, args []string, out io.Writer) error {
	f := command.Flags("plain", usage, out)
	store := f.String("json", "", "file that keeps the result of each service; those of services that are not run again stay")
	dir := f.String("out", filepath.Join("dyno-out", "plain-"+time.Now().Format("20060102-150405")), "folder for the records")
	named := f.String("dyno", "", "dyno to run, such as one of a clean clone (default: built from here)")
	quick := f.Bool("quick", false, "shorter measurements")
	if err := command.Parse(f, args); err != nil {
		return err
	}
	for _, name := range f.Args() {
		if !slices.ContainsFunc(services, func(s service) bool { return s.name == name }) {
			return command.Wrong("there is no service %q: name chain, ledger, orders, notify, arena, raft or stages", name)
		}
	}
	if err := os.MkdirAll(*dir, 0o755); err != nil {
		return err
	}
	dyno, err := command.Dyno(ctx, *named, *dir)
	if err != nil {
		return err
	}
	var rows []row
	var failed error
	for _, s := range services {
		if f.NArg() > 0 && !slices.Contains(f.Args(), s.name) {
			continue
		}
		command.Say("%s", s.name)
		r, made, err := s.diagnose(ctx, dyno, filepath.Join(*dir, s.name), *quick)
		if ctx.Err() != nil {
			return ctx.Err()
		}
		if err != nil {
			failed = errors.Join(failed, fmt.Errorf("%s: %w", s.name, err))
			continue
		}
		r.Quick = *quick
		rows = append(rows, r)
		if *store == "" {
			continue
		}
		made["command"] = []string{"go", "run", "./bench/claims/plain"}
		if err := r.keep(*store, made); err != nil {
			return err
		}
	}
	return errors.Join(table(out, rows), failed)
}

// diagnose runs dyno, whose exit code may say that it is not satisfied with a measurement that it
// printed, and reads what it recorded.
func (s service) diagnose(ctx context.Context, dyno, dir string, quick bool) (r row, made map[string]any, err error) {
	args := []string{"diagnose", "--json", "--out", dir, "--variant", s.program()}
	if quick {
		args = append(args, "--quick")
	}
	cmd := exec.CommandContext(ctx, dyno, append(args, s.scenarioFile())...)
	cmd.Stderr = os.Stderr
	var d diagnosis
	if err := command.Object(cmd, &d); err != nil {
		return r, nil, err
	}
	e, err := folder.Open(dir)
	if err != nil {
		return r, nil, err
	}
	made = map[string]any{}
	maps.Copy(made, d.Made)
	r, err = s.row(d, e)
	return r, made, err
}

// table prints a row for each service.
func table(out io.Writer, rows []row) error {
	t := tabwriter.NewWriter(out, 0, 0, 2, ' ', 0)
	fmt.Fprintln(t, strings.Join([]string{"service", "bound by", "place", "share", "CPU by kind", "of what the source names", "the source"}, "\t"))
	for _, r := range rows {
		fmt.Fprintf(t, "%s\t%s\t%s\t%s\t%s\t%s\t%s\n", r.Name, r.BoundBy, r.Place, percent(r.Share), r.CPU, r.Named, r.Source)
	}
	return t.Flush()
}
