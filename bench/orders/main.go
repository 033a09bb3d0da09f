// Command orders measures what ordersd carries beside its peers, over one PostgreSQL: order queries of 1,000
// accounts with their tokens, spread over 100,000 rows. The peers are
//
//   - fasthttp+pgx (./peer): a server that asks for one row a request, as users of the two write it, with as many
//     connections to the database as it does best with;
//   - plain (services/orders/plain): the program of the first day;
//   - pgbench -S -M prepared: the database alone, without HTTP, JSON and tokens, over the same loopback TCP and as
//     many rows, with as many clients as it does best with.
//
// They take turns, A B C D, D C B A, and so on, in fresh processes. In each turn a server shows its capacity (the
// highest rate of random arrivals with a p99 within 20 ms and at most 0.1% of errors, found by the lab's own
// search) and its peak in the closed model; pgbench, which knows no other, its transactions a second. Then
// ordersd and fasthttp+pgx take turns at one rate, 70% of what fasthttp+pgx carries. What is compared are the
// figures of the same round, as a ratio with a 95% t interval on the logarithms. PostgreSQL runs as ordersd
// starts it, with fsync and otherwise its own defaults.
//
//	go run ./bench/orders
//	go run ./bench/orders --quick
//	go run ./bench/orders --pairs 10 --budget 20m --length 4s --connections 256
//
// A run that fails, or in which the load generator was the limit, is tried once more; then its figure is left out, and the
// others are still printed. It ends within --budget: beside busy neighbours with fewer pairs, and so without intervals.
//
// PostgREST, the other peer one thinks of, is left out: no package registry has it, so that it could not be
// installed by a command that everybody can repeat. It is not for what ordersd's single steps gain
// (scenarios/orders.yaml is), and a ratio from a machine that does other work beside is worth little. It owns the
// processes that it starts, which have ended when it ends, whatever ended it.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/signal"
	"syscall"
	"time"

	"dyno/lab/compare"
)

// options of a comparison.
type options struct {
	pairs          int
	quick          bool
	budget         time.Duration // of the measurement
	length, warmup time.Duration // of a run: what is measured, and what comes before
	connections    int           // of the load generator to a server, and of the closed model
	postgresBin    string        // folder of initdb and postgres; "": ordersd looks
	dir            string        // where the work folder is made; "": the temporary folder

	rows, accounts, lines int // orders, their owners, and how many of them the load asks for in turn
}

// defaults are what the flags do not change, too.
var defaults = options{
	pairs: 6, budget: 4 * time.Minute, length: time.Second, warmup: 500 * time.Millisecond, connections: 128,
	rows: 100_000, accounts: 1000, lines: 20_000, // as many rows as pgbench has at scale 1
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
		fmt.Fprintf(os.Stderr, "orders: %v\n", err)
		stop()
		os.Exit(1)
	}
}

func parse(args []string) (options, error) {
	o := defaults
	flags := flag.NewFlagSet("orders", flag.ExitOnError)
	flags.IntVar(&o.pairs, "pairs", o.pairs, fmt.Sprintf("how often each runs, at least %d, as far as the budget goes", compare.MinPairs))
	flags.BoolVar(&o.quick, "quick", false, "2 pairs within a minute: figures without intervals, also on a busy machine, to see that all works")
	flags.DurationVar(&o.budget, "budget", o.budget, "`time` after which no further round begins, however many pairs there are; building and filling the database come before")
	flags.DurationVar(&o.length, "length", o.length, "measured `time` of each run")
	flags.DurationVar(&o.warmup, "warmup", o.warmup, "`time` before what is measured")
	flags.IntVar(&o.connections, "connections", o.connections, "that the load comes over")
	flags.StringVar(&o.postgresBin, "postgres-bin", "", "`folder` of initdb and postgres; without it ordersd downloads or finds them")
	flags.StringVar(&o.dir, "dir", "", "`folder` that the database is made in; default: the temporary folder")
	if err := flags.Parse(args); err != nil {
		return o, err
	}
	if o.quick {
		o.pairs, o.budget = 2, time.Minute
	}
	switch {
	case flags.NArg() > 0:
		return o, fmt.Errorf("it takes no arguments, not even %q", flags.Arg(0))
	case o.pairs < compare.MinPairs && !o.quick:
		return o, fmt.Errorf("--pairs %d: at least %d are needed for an interval; see also --quick", o.pairs, compare.MinPairs)
	case o.budget <= 0:
		return o, fmt.Errorf("--budget %v is not positive", o.budget)
	case o.length < time.Second || o.warmup < 0:
		return o, errors.New("--length is at least 1s, which is as short as pgbench can be, and --warmup is not negative")
	case o.connections < 1 || o.connections > 10_000:
		return o, fmt.Errorf("--connections %d is not between 1 and 10000", o.connections)
	}
	return o, nil
}

// run measures and prints.
func run(ctx context.Context, o options) error {
	b, err := newBench(ctx, o)
	if err != nil {
		return err
	}
	defer b.close()
	b.began = time.Now()
	r := newReport(b)
	if err := b.measure(ctx, r); err != nil {
		return err
	}
	return r.print(os.Stdout)
}
