// Command delivery measures what durability, order and fairness cost notifyd on the whole way: notices that
// come in by NDJSON batches, are on the disk before their 202 and go out as signed webhooks, beside the rate
// at which a process posts the same webhooks with notifyd's own client and signing code, and nothing else of
// it: no log, no lanes, no queue. Both are counted where they arrive, at a fresh receiver that verifies every
// signature; the two take turns, A B B A, each in a fresh process, and the result is the ratio of their rates
// with a 95% t interval on the logarithms. So is the CPU time that the process used for each notice, which other
// work on the machine changes less: for notifyd it covers ingest, too.
//
//	go run ./bench/delivery
//	go run ./bench/delivery --batch 64 --pairs 10
//	go run ./bench/delivery --against group      an earlier step of the ladder instead of the bare webhooks
//
// It is not for latency (scenarios/notify.yaml is), and a ratio from a machine that does other work beside is
// worth little. It owns the processes that it starts and the goroutines that feed them.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/signal"
	"slices"
	"text/tabwriter"
	"time"

	"dyno/lab/compare"
	"dyno/lab/probe"
)

// options of a comparison.
type options struct {
	pairs    int
	warmup   time.Duration
	length   time.Duration
	delay    time.Duration // that the receiver takes to answer
	inFlight int           // webhooks at once, on both sides
	batch    int           // notices in a webhook, at most
	payload  int           // bytes of a notice's payload, about
	assembly string        // of notifyd
	against  string        // assembly of another notifyd that it is compared with; "": bare webhooks
}

func main() {
	var o options
	flag.IntVar(&o.pairs, "pairs", 8, "how often each runs, at least 4")
	flag.DurationVar(&o.warmup, "warmup", 2*time.Second, "time before what is counted")
	flag.DurationVar(&o.length, "length", 5*time.Second, "time that is counted")
	flag.DurationVar(&o.delay, "delay", 5*time.Millisecond, "how long the receiver takes to answer")
	flag.IntVar(&o.inFlight, "in-flight", 256, "webhooks that either side has in flight at once")
	flag.IntVar(&o.batch, "batch", 1, "notices that a webhook may hold")
	flag.IntVar(&o.payload, "payload", 160, "bytes of a notice's payload, about")
	flag.StringVar(&o.assembly, "assembly", "tuned", "notifyd's assembly")
	flag.StringVar(&o.against, "against", "", "assembly of another notifyd to compare with, instead of bare webhooks")
	flag.Parse()
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	err := o.check()
	if err == nil {
		err = o.compare(ctx)
	}
	if err != nil {
		fmt.Fprintf(os.Stderr, "delivery: %v\n", err)
		os.Exit(1)
	}
}

func (o options) check() error {
	switch {
	case flag.NArg() > 0:
		return fmt.Errorf("it takes no arguments, not even %q", flag.Arg(0))
	case o.pairs < compare.MinPairs:
		return fmt.Errorf("--pairs %d: at least %d are needed for an interval", o.pairs, compare.MinPairs)
	case o.warmup < 0 || o.length < 100*time.Millisecond || o.delay < 0:
		return errors.New("--length is at least 100ms, --warmup and --delay are not negative")
	case o.inFlight < 1 || o.inFlight > 4096 || o.batch < 1 || o.batch > 1000:
		return errors.New("--in-flight is 1 to 4096, --batch 1 to 1000")
	case o.payload < 1 || o.payload > 64<<10:
		return errors.New("--payload is 1 to 65536 bytes")
	}
	return nil
}

func (o options) compare(ctx context.Context) error {
	b, err := newBench(ctx, o)
	if err != nil {
		return err
	}
	defer b.close()
	other, first := "raw", side(b.raw)
	if o.against != "" {
		other, first = o.against, b.service(o.against)
	}
	fmt.Printf("machine: %s\nnotifyd --assembly %s beside %s: %d in flight, %d notices a webhook, a receiver that takes %v\n\n",
		probe.Machine(), o.assembly, other, o.inFlight, o.batch, o.delay)
	table := tabwriter.NewWriter(os.Stdout, 0, 0, 2, ' ', tabwriter.AlignRight)
	fmt.Fprintf(table, "pair\t%s notices/s\tnotifyd notices/s\tratio\t%[1]s CPU us\tnotifyd CPU us\tratio\t\n", other)
	var before, after []figures
	for pair := range o.pairs {
		sides := []side{first, b.service(o.assembly)}
		if pair%2 == 1 { // A B B A
			slices.Reverse(sides)
		}
		seen, err := b.inTurn(ctx, sides)
		if err != nil {
			return err
		}
		if pair%2 == 1 {
			slices.Reverse(seen)
		}
		x, y := seen[0], seen[1]
		before, after = append(before, x), append(after, y)
		fmt.Fprintf(table, "%d\t%.0f\t%.0f\t%.3f\t%.1f\t%.1f\t%.3f\t\n", pair+1, x.rate, y.rate, y.rate/x.rate, x.cpu, y.cpu, y.cpu/x.cpu)
	}
	table.Flush()
	fmt.Println()
	return errors.Join(
		conclude(fmt.Sprintf("notices/s, notifyd / %s", other), before, after, func(f figures) float64 { return f.rate }),
		conclude(fmt.Sprintf("CPU time per notice, notifyd / %s", other), before, after, func(f figures) float64 { return f.cpu }))
}

// conclude prints the ratio of a figure over the pairs.
func conclude(what string, before, after []figures, of func(figures) float64) error {
	var x, y []float64
	for i := range before {
		x, y = append(x, of(before[i])), append(y, of(after[i]))
	}
	c := compare.Ratio(compare.MetricCapacity, x, y)
	for _, w := range c.Warnings {
		fmt.Println("warning:", w)
	}
	if c.Interval == nil {
		return fmt.Errorf("%s: there is no interval", what)
	}
	fmt.Printf("%s: %.3f, 95%% interval %.3f to %.3f (%d pairs)\n", what, c.Ratio, c.Interval[0], c.Interval[1], c.Pairs)
	return nil
}
