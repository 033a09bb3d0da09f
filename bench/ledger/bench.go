package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"syscall"
	"time"

	"dyno/agent/monotonic"
	"dyno/lab/probe"
	"dyno/lab/probe/pmqos"
	"dyno/lab/record"
	"dyno/lab/target"
	"dyno/parts/process"
)

// bench is what stays the same over the rounds.
type bench struct {
	options
	work     string // folder of programs and data, on the disk that is worked on; removed at the end
	programs map[string]string
	server   *process.Process // the simulator, without limits
	machine  record.Machine
	release  func() // of the CPUs' wake-up latency
	counts   struct{ runs, disturbed int }
}

// Programs, by their packages.
const (
	ledgersync = "dyno/cmd/ledgersync"
	plain      = "dyno/services/ledger/plain"
	ceiling    = "dyno/services/ledger/bots/ceiling"
)

func newBench(ctx context.Context, o options) (b *bench, err error) {
	b = &bench{options: o, programs: map[string]string{}, machine: probe.Machine()}
	b.release, b.machine.WakeLatencyHeld, _ = pmqos.Hold()
	const out = "dyno-out" // a store on a RAM disk proves nothing
	if err := os.MkdirAll(out, 0o755); err != nil {
		return nil, err
	}
	if b.work, err = os.MkdirTemp(out, "bench-ledger-"); err != nil {
		return nil, err
	}
	defer func() {
		if err != nil {
			b.close()
		}
	}()
	if b.work, err = filepath.Abs(b.work); err != nil {
		return nil, err
	}
	for _, pkg := range []string{ledgersync, plain, ceiling} {
		say("building %s", pkg)
		if b.programs[pkg], err = process.Build(ctx, ".", pkg, filepath.Join(b.work, "bin")); err != nil {
			return nil, fmt.Errorf("run this inside the repository: %w", err)
		}
	}
	say("making %d ledgers", o.ledgers)
	b.server, err = b.sim(ctx, "none", o.ledgers)
	return b, err
}

func (b *bench) close() error {
	if b.server != nil {
		b.server.Stop(grace)
	}
	b.release()
	return os.RemoveAll(b.work)
}

const (
	// first is the chain's lowest ledger.
	first = 90_000_001
	// distinct is how many ledgers have transactions of their own: signing them all would take minutes.
	distinct = 256
	// making bounds how long that takes.
	making = 2 * time.Minute
	// grace is how long a process may take to end after it was told to.
	grace = 5 * time.Second
)

// sim starts a simulator; it is ready when all its ledgers are made.
func (b *bench) sim(ctx context.Context, limits string, ledgers int) (*process.Process, error) {
	return target.Start(ctx, process.Spec{Name: "sim", ReadyLine: true, ReadyTimeout: making, Command: []string{b.programs[ledgersync], "sim",
		"--listen", "127.0.0.1:0", "--first", strconv.Itoa(first), "--ledgers", strconv.Itoa(ledgers), "--distinct", strconv.Itoa(distinct), "--limits", limits}})
}

func url(sim *process.Process) string { return "http://" + sim.Ready()["listen"] }

// summary is what a program says of itself in its last line.
type summary struct {
	Ledgers   int     `json:"ledgers"`
	Elapsed   float64 `json:"elapsed_s"`
	Rate      float64 `json:"ledgers_per_s"`
	BoundBy   string  `json:"bound_by"`
	Refetched int     `json:"refetched"`

	cpu float64 // of the process, us for each ledger
}

// job runs a program to its end and reads its last line, which has to be of at least so many ledgers. Why the run does not
// count, if it does not, is returned, too.
func (b *bench) job(ctx context.Context, ledgers int, command ...string) (s summary, invalid string, err error) {
	var out bytes.Buffer
	before := children()
	p, err := target.Start(ctx, process.Spec{Name: filepath.Base(command[0]), Command: command, Stdout: &out})
	if err != nil {
		return s, "", err
	}
	defer p.Stop(grace)
	watch, err := probe.Watch(ctx, probe.Options{PID: p.PID(), Companions: []int{b.server.PID()}, Self: os.Getpid()})
	if err != nil {
		return s, "", err
	}
	defer watch.Close()
	from := monotonic.Now()
	select {
	case <-p.Exited():
	case <-ctx.Done():
		return s, "", ctx.Err()
	}
	run := record.Run{Machine: b.machine, Environment: watch.Environment(from, monotonic.Now())}
	run.Judge()
	if err := p.Err(); err != nil {
		return s, "", errors.Join(err, errors.New(p.LogTail(5)))
	}
	lines := bytes.Split(bytes.TrimSpace(out.Bytes()), []byte("\n"))
	if err := json.Unmarshal(lines[len(lines)-1], &s); err != nil {
		return s, "", fmt.Errorf("%s: its last line is %.200q: %w", command[0], lines[len(lines)-1], err)
	}
	if s.Ledgers < ledgers || s.Rate <= 0 {
		return s, "", fmt.Errorf("%s: %+v, of %d ledgers", command[0], s, ledgers)
	}
	s.cpu = float64((children() - before).Microseconds()) / float64(s.Ledgers)
	return s, run.Invalid, nil
}

// children is the CPU time of processes that have ended: the simulator, which goes on, is none.
func children() time.Duration {
	var u syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_CHILDREN, &u); err != nil {
		return 0
	}
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}

// tries is how often a run may turn out not to count, and calm how long to wait before the next.
const (
	tries = 3
	calm  = 3 * time.Second
)

// counted repeats a run until it counts; the zero summary: it never did, and why was said.
func (b *bench) counted(ctx context.Context, name string, run func() (summary, string, error)) (summary, error) {
	for try := 1; ; try++ {
		s, invalid, err := run()
		if err != nil {
			return s, fmt.Errorf("%s: %w", name, err)
		}
		b.counts.runs++
		if invalid == "" {
			return s, nil
		}
		b.counts.disturbed++
		if b.quick { // nothing is claimed then
			return s, nil
		}
		say("  %s: this run does not count: %s", name, invalid)
		if try == tries {
			return summary{}, nil
		}
		select {
		case <-time.After(calm):
		case <-ctx.Done():
			return summary{}, ctx.Err()
		}
	}
}
