package main

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"dyno/lab/target"
	"dyno/parts/process"
)

type options struct {
	rounds int
	length time.Duration
	only   string
	dir    string
	json   bool
}

// compareAll measures the subjects in turns and prints what came out.
func compareAll(ctx context.Context, o options) error {
	if o.rounds < 1 {
		return fmt.Errorf("%d rounds: at least 1 is needed, and 6 for an interval", o.rounds)
	}
	run, skipped, err := present(o.only)
	if err != nil {
		return err
	}
	work, err := os.MkdirTemp(o.dir, "bench-log-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(work)
	notifyd, skippedToo, run, err := buildNotifyd(ctx, work, run)
	if err != nil {
		return err
	}
	r := newReport(o, append(skipped, skippedToo...))
	if err := r.conditions(work); err != nil {
		return err
	}
	for round := range o.rounds {
		for _, i := range order(len(run), round) {
			s := run[i]
			fmt.Fprintf(os.Stderr, "round %d of %d: %s\n", round+1, o.rounds, s.name)
			m, err := inProcess(ctx, s, o, work, notifyd)
			if err != nil {
				return fmt.Errorf("%s in round %d: %w", s.name, round+1, err)
			}
			r.add(s, m)
		}
		if err := r.again(work); err != nil {
			return err
		}
	}
	return r.print(os.Stdout)
}

// order is that of the subjects in a round: forward and backward by turns, and each pair of rounds begins
// further on, so that none is always measured after the same one.
func order(n, round int) []int {
	out := make([]int, n)
	for i := range out {
		out[i] = (i + round/2*(n/3+1)) % n
	}
	if round%2 == 1 {
		slices.Reverse(out)
	}
	return out
}

// present leaves out what needs a program that is not there, and says so.
func present(only string) (run []subject, skipped []string, err error) {
	wanted, err := chosen(only)
	for _, s := range wanted {
		if s.needs != "" {
			if _, missing := exec.LookPath(s.needs); missing != nil {
				skipped = append(skipped, fmt.Sprintf("%s: %s is not installed", s.name, s.needs))
				continue
			}
		}
		run = append(run, s)
	}
	return run, skipped, err
}

const notifydPrefix = "notifyd"

// buildNotifyd builds notifyd if it is among the subjects, and leaves it out if it is one that keeps notices
// in memory: what it acknowledges is not durable.
func buildNotifyd(ctx context.Context, work string, run []subject) (binary string, skipped []string, rest []subject, err error) {
	isNotifyd := func(s subject) bool { return strings.HasPrefix(s.name, notifydPrefix) }
	if !slices.ContainsFunc(run, isNotifyd) {
		return "", nil, run, nil
	}
	binary, err = process.Build(ctx, ".", "dyno/cmd/notifyd", work)
	if err != nil {
		return "", nil, nil, fmt.Errorf("run this inside the repository: %w", err)
	}
	help, _ := exec.CommandContext(ctx, binary, "serve", "--help").CombinedOutput()
	if bytes.Contains(help, []byte("--data")) {
		return binary, nil, run, nil
	}
	for _, s := range run {
		if isNotifyd(s) {
			skipped = append(skipped, s.name+": this notifyd keeps nothing on the disk (serve has no --data)")
		} else {
			rest = append(rest, s)
		}
	}
	return "", skipped, rest, nil
}

// inProcess measures a subject in a process of its own, which is gone afterwards with all it started.
func inProcess(ctx context.Context, s subject, o options, work, notifyd string) (m measured, err error) {
	self, err := os.Executable()
	if err != nil {
		return m, err
	}
	dir, err := os.MkdirTemp(work, s.name+"-")
	if err != nil {
		return m, err
	}
	defer os.RemoveAll(dir)
	var out bytes.Buffer
	p, err := target.Start(ctx, process.Spec{
		Name:    s.name,
		Command: []string{self, measureWord, s.name, dir, o.length.String(), notifyd},
		Env:     []string{"TMPDIR=" + filepath.Clean(work)},
		Stdout:  &out,
	})
	if err != nil {
		return m, err
	}
	select {
	case <-p.Exited():
	case <-ctx.Done():
		p.Stop(2 * stopGrace) // it stops a server first
		return m, ctx.Err()
	case <-time.After(o.length + time.Minute):
		p.Stop(2 * stopGrace)
		return m, fmt.Errorf("it does not end\n%s", p.LogTail(10))
	}
	if err := p.Err(); err != nil {
		return m, fmt.Errorf("%w\n%s", err, p.LogTail(10))
	}
	return m, json.Unmarshal(out.Bytes(), &m)
}
