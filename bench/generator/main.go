// Command generator measures what a load generator costs: CPU seconds, user and system, per million
// requests, of this repository's raw engine beside wrk (or of two of its back ends beside each other),
// with 64 keep-alive connections in the closed model against subjects/echo, full recording on. The two
// take turns, A B B A, each in a fresh process, and the result is the ratio of their costs with a 95% t
// interval on the logarithms.
//
//	go run ./bench/generator
//	go run ./bench/generator -a raw-uring -b raw-epoll -pairs 10
//
// It is not for latency, and a ratio from a machine that does other work beside is worth little.
package main

import (
	"context"
	"flag"
	"fmt"
	"os"
	"os/signal"
	"text/tabwriter"
	"time"
)

const (
	connections = 64
	minPairs    = 6 // with fewer, a t interval of ratios says nothing
)

func main() {
	if len(os.Args) > 1 && os.Args[1] == driveWord {
		exit(driveMain(os.Args[2:]))
	}
	a := flag.String("a", "raw", "the contender whose cost is the numerator: raw, raw-epoll, raw-uring or wrk")
	b := flag.String("b", "wrk", "the contender it is divided by")
	pairs := flag.Int("pairs", 8, "how often each runs, at least 6")
	length := flag.Duration("length", 5*time.Second, "how long each run lasts")
	flag.Parse()
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	exit(compare(ctx, *a, *b, *pairs, *length))
}

func exit(err error) {
	if err != nil {
		fmt.Fprintf(os.Stderr, "generator: %v\n", err)
		os.Exit(1)
	}
	os.Exit(0)
}

func compare(ctx context.Context, nameA, nameB string, pairs int, length time.Duration) error {
	if pairs < minPairs {
		return fmt.Errorf("%d pairs: at least %d are needed for an interval", pairs, minPairs)
	}
	a, err := contender(nameA)
	if err != nil {
		return err
	}
	b, err := contender(nameB)
	if err != nil {
		return err
	}
	target, stop, err := startEcho(ctx)
	if err != nil {
		return err
	}
	defer stop()
	if err := describe(ctx, target); err != nil {
		return err
	}
	table := tabwriter.NewWriter(os.Stdout, 0, 0, 2, ' ', tabwriter.AlignRight)
	fmt.Fprintf(table, "pair\t%s s/M\t%s s/M\tratio\t%s req/s\t%s req/s\t\n", nameA, nameB, nameA, nameB)
	var costsA, costsB []float64
	for pair := range pairs {
		first, second := a, b
		if pair%2 == 1 { // A B B A
			first, second = b, a
		}
		one, err := first(ctx, target.url, length)
		if err != nil {
			return err
		}
		two, err := second(ctx, target.url, length)
		if err != nil {
			return err
		}
		if pair%2 == 1 {
			one, two = two, one
		}
		costsA, costsB = append(costsA, one.perMillion()), append(costsB, two.perMillion())
		fmt.Fprintf(table, "%d\t%.3f\t%.3f\t%.3f\t%.0f\t%.0f\t\n", pair+1, one.perMillion(), two.perMillion(),
			one.perMillion()/two.perMillion(), one.perSecond(), two.perSecond())
	}
	table.Flush()
	ratio, low, high := logRatio(costsA, costsB)
	fmt.Printf("\nCPU per request, geometric means: %s %.3f s/M, %s %.3f s/M\n", nameA, geometricMean(costsA), nameB, geometricMean(costsB))
	fmt.Printf("%s / %s: %.3f, 95%% interval %.3f to %.3f (%d pairs)\n", nameA, nameB, ratio, low, high, pairs)
	return nil
}
