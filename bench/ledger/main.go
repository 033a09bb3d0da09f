// Command ledger measures ledgersync against its limits: the simulator's range of ledgers with 90 transactions each, on the
// same two cores as the simulator. In turns, A B C, C B A, and so on, a fresh process and data folder each, it runs
//
//   - ledgersync sync --level L2 and L4, as it comes (tuned);
//   - plain (services/ledger/plain): the program of the first day, at L2;
//   - memory: all cores decode, hash and link the same answers from memory, and do nothing else;
//   - signatures: all cores check the signatures of the same ledgers from memory, and do nothing else.
//
// What is compared are the figures of the same round, as a ratio with a 95% t interval on the logarithms. Then it lets
// ledgersync sync from servers with the limits of Clio and of rippled, and says what share of their budgets it used
// after a warm-up and how many of its requests were refused; and from two servers of which one fails requests at random,
// and says how long after a failure another server's answer had come.
//
// A round in which a side was disturbed time and again does not count for that side: then there are more rounds.
//
//	go run ./bench/ledger
//	go run ./bench/ledger --quick
//	go run ./bench/ledger --only rippled
//
// It is not for what ledgersync's single steps gain (scenarios/ledger.yaml is), and a figure from a machine that does
// other work beside is worth little. It owns the processes that it starts, which have ended when it ends.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/signal"
	"slices"
	"syscall"
	"time"

	"dyno/lab/compare"
)

// options of a comparison.
type options struct {
	pairs      int
	quick      bool
	only       string        // a part; "": all
	ledgers    int           // of a run at L2, most of which come after the pace has found its rate; the slower sides do a part of them
	length     time.Duration // of a run from memory
	warm, long time.Duration // of a run with limits: before it is measured, and measured
	assembly   string
	signatures string // who checks them
}

var defaults = options{
	pairs: 6, ledgers: 8000, length: 4 * time.Second, warm: 15 * time.Second, long: 15 * time.Second, assembly: "tuned", signatures: "libsecp256k1",
}

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	o, err := parse(os.Args[1:])
	if err == nil {
		err = run(ctx, o)
	}
	if err != nil {
		if ctx.Err() != nil {
			err = errors.New("interrupted")
		}
		fmt.Fprintf(os.Stderr, "ledger: %v\n", err)
		stop()
		os.Exit(1)
	}
}

func parse(args []string) (options, error) {
	o := defaults
	flags := flag.NewFlagSet("ledger", flag.ExitOnError)
	flags.IntVar(&o.pairs, "pairs", o.pairs, "how many rounds have to count, at least 6; at most twice as many are run")
	flags.BoolVar(&o.quick, "quick", false, "2 rounds of short runs: figures without intervals, also on a busy machine, to see that all works")
	flags.StringVar(&o.only, "only", o.only, "a part: turns, clio, rippled or failures")
	flags.IntVar(&o.ledgers, "ledgers", o.ledgers, "in a run at L2; 100 to 20,000")
	flags.StringVar(&o.assembly, "assembly", o.assembly, "ledgersync's")
	flags.StringVar(&o.signatures, "signatures", o.signatures, "who checks signatures, on both sides: pure or libsecp256k1")
	if err := flags.Parse(args); err != nil {
		return o, err
	}
	if o.quick {
		o.pairs, o.ledgers, o.length, o.warm, o.long = 2, 400, time.Second, 4*time.Second, 4*time.Second
	}
	switch {
	case flags.NArg() > 0:
		return o, fmt.Errorf("it takes no arguments, not even %q", flags.Arg(0))
	case o.pairs < compare.MinPairs && !o.quick:
		return o, fmt.Errorf("--pairs %d: at least %d are needed for an interval", o.pairs, compare.MinPairs)
	case o.only != "" && !slices.ContainsFunc(parts, func(p part) bool { return p.name == o.only }):
		return o, fmt.Errorf("--only %q: there are turns, clio, rippled or failures", o.only)
	case o.ledgers < 100 || o.ledgers > 20_000:
		return o, fmt.Errorf("--ledgers %d is not 100 to 20000", o.ledgers)
	}
	return o, nil
}

func run(ctx context.Context, o options) (err error) {
	b, err := newBench(ctx, o)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, b.close()) }()
	r := newReport(b)
	for _, p := range parts {
		if (o.only == "" || o.only == p.name) && ctx.Err() == nil {
			err = errors.Join(err, p.run(b, ctx, r)) // what the others showed is worth a report
		}
	}
	return errors.Join(err, r.print(os.Stdout))
}

// part is what can be measured by itself.
type part struct {
	name string
	run  func(*bench, context.Context, *report) error
}

var parts = []part{{"turns", (*bench).turns}, {"clio", limited(clio)}, {"rippled", limited(rippled)}, {"failures", (*bench).elsewhere}}

// say tells how far it is, beside the tables.
func say(format string, args ...any) { fmt.Fprintf(os.Stderr, format+"\n", args...) }
