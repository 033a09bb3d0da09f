// Command delivery measures what durability, order and fairness cost notifyd on the whole way: notices that
// come in by NDJSON batches, are on the disk before their 202 and go out as signed webhooks, beside the rate
// at which a process posts the same webhooks with notifyd's own client and signing code, and nothing else of
// it: no log, no lanes, no queue. Both are counted where they arrive, at a fresh receiver that verifies every
// signature; the two take turns, A B B A, each in a fresh process, and the result is the ratio of their rates
// with a 95% t interval on the logarithms.
//
//	go run ./bench/delivery
//	go run ./bench/delivery --batch 64 --pairs 10
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
}

func main() {
	var o options
	flag.IntVar(&o.pairs, "pairs", 8, "how often each runs, at least 6")
	flag.DurationVar(&o.warmup, "warmup", 2*time.Second, "time before what is counted")
	flag.DurationVar(&o.length, "length", 5*time.Second, "time that is counted")
	flag.DurationVar(&o.delay, "delay", 5*time.Millisecond, "how long the receiver takes to answer")
	flag.IntVar(&o.inFlight, "in-flight", 256, "webhooks that either side has in flight at once")
	flag.IntVar(&o.batch, "batch", 1, "notices that a webhook may hold")
	flag.IntVar(&o.payload, "payload", 160, "bytes of a notice's payload, about")
	flag.StringVar(&o.assembly, "assembly", "group", "notifyd's assembly")
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
	fmt.Printf("machine: %s\nnotifyd --assembly %s beside its own client: %d in flight, %d notices a webhook, a receiver that takes %v\n\n",
		probe.Machine(), o.assembly, o.inFlight, o.batch, o.delay)
	table := tabwriter.NewWriter(os.Stdout, 0, 0, 2, ' ', tabwriter.AlignRight)
	fmt.Fprintln(table, "pair\traw notices/s\tnotifyd notices/s\tratio\t")
	var raw, service []float64
	for pair := range o.pairs {
		sides := []side{b.raw, b.service}
		if pair%2 == 1 { // A B B A
			slices.Reverse(sides)
		}
		rates, err := b.inTurn(ctx, sides)
		if err != nil {
			return err
		}
		if pair%2 == 1 {
			slices.Reverse(rates)
		}
		r, s := rates[0], rates[1]
		raw, service = append(raw, r), append(service, s)
		fmt.Fprintf(table, "%d\t%.0f\t%.0f\t%.3f\t\n", pair+1, r, s, s/r)
	}
	table.Flush()
	c := compare.Ratio(compare.MetricCapacity, raw, service)
	for _, w := range c.Warnings {
		fmt.Println("warning:", w)
	}
	if c.Interval == nil {
		return errors.New("there is no interval")
	}
	fmt.Printf("\nnotifyd / raw: %.3f, 95%% interval %.3f to %.3f (%d pairs)\n", c.Ratio, c.Interval[0], c.Interval[1], c.Pairs)
	return nil
}
