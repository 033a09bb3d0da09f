package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os/exec"
	"regexp"
	"strconv"
	"strings"
	"time"

	"dyno/agent/monotonic"
	"dyno/lab/probe"
	"dyno/lab/record"
	"dyno/lab/target"
	"dyno/parts/process"
)

// pgbench is PostgreSQL's own load generator, and what it does best with.
type pgbench struct {
	program string
	version string
	dsn     string
	clients int
}

const (
	pgbenchDatabase = "pgbench"
	// pgbenchThreads is its -j: as many as the machine of the bars has cores.
	pgbenchThreads = 2
	noPgbench      = "pgbench is not installed (Debian: apt-get install postgresql, which has it; macOS: brew install postgresql)"
)

// newPgbench makes pgbench's tables, of 100,000 accounts. Nil without an error: it is not installed.
func (b *bench) newPgbench(ctx context.Context) (*pgbench, error) {
	program, err := exec.LookPath("pgbench")
	if err != nil {
		return nil, nil
	}
	p := &pgbench{program: program}
	if p.dsn, err = beside(b.database.dsn, pgbenchDatabase); err != nil {
		return nil, err
	}
	version, _ := exec.CommandContext(ctx, program, "--version").Output()
	p.version = strings.TrimSpace(string(version))
	say("making pgbench's tables")
	_, err = b.pgbenchRun(ctx, p, nil, "-i", "-s", "1", "-q")
	return p, err
}

// pgbenchRun runs pgbench to its end and returns what it printed. While it runs, watch is told its process.
func (b *bench) pgbenchRun(ctx context.Context, p *pgbench, watch func(pid int) (stop func()), args ...string) (string, error) {
	var out bytes.Buffer
	process, err := target.Start(ctx, process.Spec{Name: "pgbench", Command: append(append([]string{p.program}, args...), p.dsn), Stdout: &out})
	if err != nil {
		return "", err
	}
	if watch != nil {
		defer watch(process.PID())()
	}
	select {
	case <-process.Exited():
		return out.String(), process.Err()
	case <-ctx.Done():
		process.Stop(grace)
		return "", ctx.Err()
	}
}

// transactions runs pgbench once, in a process of its own: a run of the closed model.
func (b *bench) transactions(ctx context.Context, clients int) (*record.Run, error) {
	seconds := int(max(b.length, time.Second) / time.Second)
	r := &record.Run{Machine: b.machine, Load: record.Load{Model: "closed", Connections: clients}}
	watch := func(pid int) (stop func()) {
		w, err := probe.Watch(ctx, b.beside(pid))
		if err != nil {
			return func() {} // then nothing was seen, and the run counts
		}
		from := monotonic.Now()
		return func() {
			r.Environment = w.Environment(from, monotonic.Now())
			w.Close()
		}
	}
	out, err := b.pgbenchRun(ctx, b.pgbench, watch, "-n", "-S", "-M", "prepared", "-c", strconv.Itoa(clients),
		"-j", strconv.Itoa(min(pgbenchThreads, clients)), "-T", strconv.Itoa(seconds))
	if err != nil {
		return nil, err
	}
	if r.Totals.AchievedPerS, err = readTPS(out); err != nil {
		return nil, err
	}
	r.Judge()
	return r, nil
}

// tps is how pgbench says its rate; before version 14 it said it twice, and the second one left out connecting.
var (
	tps      = regexp.MustCompile(`(?m)^tps = ([0-9.]+) \((?:without initial connection time|excluding connections establishing)\)`)
	failures = regexp.MustCompile(`(?m)^number of failed transactions: ([0-9]+)`)
)

// readTPS reads transactions a second from what pgbench printed.
func readTPS(out string) (float64, error) {
	if m := failures.FindStringSubmatch(out); m != nil && m[1] != "0" {
		return 0, fmt.Errorf("pgbench: %s transactions failed", m[1])
	}
	m := tps.FindStringSubmatch(out)
	if m == nil {
		return 0, fmt.Errorf("pgbench printed no rate; it said:\n%s", out[:min(len(out), 1000)])
	}
	rate, err := strconv.ParseFloat(m[1], 64)
	if err == nil && rate <= 0 {
		err = errors.New("it did nothing")
	}
	if err != nil {
		return 0, fmt.Errorf("pgbench: tps = %s: %w", m[1], err)
	}
	return rate, nil
}
