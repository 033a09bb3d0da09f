// Command log measures what it costs to make a record durable before it is acknowledged: parts/wal beside
// pebble and tidwall/wal as bare logs, and notifyd beside NATS JetStream and Redis streams over the network.
// Every subject takes the same records of 256 bytes and syncs before it acknowledges. Subjects take turns,
// in rotated order and back, each in a fresh process (and a fresh server) on a fresh folder; what is
// compared are the rates of the same round, as a ratio with a 95% t interval on the logarithms.
//
//	go run ./bench/log
//	go run ./bench/log --quick
//	go run ./bench/log --only segment,tidwall --rounds 10
//
// It is not for latency under a given load (every subject runs as fast as it can), and a ratio from a
// machine that does other work beside is worth little. redis-server is taken from PATH, notifyd is built.
package main

import (
	"context"
	"flag"
	"fmt"
	"os"
	"os/signal"
	"syscall"
	"time"
)

const (
	recordBytes = 256
	producers   = 64
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	err := run(ctx, os.Args[1:])
	if err != nil {
		fmt.Fprintf(os.Stderr, "log: %v\n", err)
		stop()
		os.Exit(1)
	}
}

// run tells the program that people start from the processes that it starts of itself.
func run(ctx context.Context, args []string) error {
	if len(args) > 0 {
		switch args[0] {
		case measureWord:
			return measureMain(ctx, args[1:])
		case natsWord:
			return natsMain(ctx, args[1:])
		}
	}
	o := options{}
	flags := flag.NewFlagSet("log", flag.ExitOnError)
	flags.IntVar(&o.rounds, "rounds", 6, "how often each subject runs; at least 6 for an interval")
	flags.DurationVar(&o.length, "length", 3*time.Second, "how long each is measured")
	quick := flags.Bool("quick", false, "two rounds of 1 s: figures without intervals, to see that all works")
	flags.StringVar(&o.only, "only", "", "run only the subjects whose names contain one of these, separated by commas")
	flags.StringVar(&o.dir, "dir", "", "where the logs are written, a folder on the disk in question; default: the temporary folder")
	flags.BoolVar(&o.json, "json", false, "print JSON")
	if err := flags.Parse(args); err != nil {
		return err
	}
	if *quick {
		o.rounds, o.length = 2, time.Second
	}
	return compareAll(ctx, o)
}
