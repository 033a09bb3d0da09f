// Queues is an experiment in one process: bare messages of 256 bytes are put into a queue on a
// schedule fixed beforehand, and consumers take 1 ms each to handle one. It shows what a queue
// accepts, refuses and delivers at a rate, and how long a message waits; that capacity comes from
// the consumers; and that a buffer only buys latency. With --burst it shows what a queue does while
// far too much comes in: how it grows, what memory and collecting garbage that takes, and how long
// it takes to be rid of it; with --zipf, what a skewed key does to shards.
//
//	queues --queue ring --buffer 1024 --workers 8 --rate 7500 --duration 5s
//	queues --queue ring --buffer 262144 --workers 8 --work 125us --rate 50000 --burst 200000
//	queues --queue shards --workers 8 --rate 7000 --zipf 1.2
//
// It prints the progress of a job (package dyno/lab/load/windows): accepted
// messages are completed offers, refused ones failed with status 503, delivered ones were handled.
//
// It is not a service: nothing listens, and order per key is not kept, since the queue holds
// messages and not lanes.
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

	"dyno/bench/claims/queues/queue"
	"dyno/lab/load"
	"dyno/lab/load/windows"
	"dyno/lab/workload"
)

type options struct {
	queue    string
	buffer   int
	workers  int
	work     time.Duration
	busy     bool
	rate     float64 // messages per second
	rampTo   float64 // 0: the rate stays
	burst    float64 // messages per second meanwhile; 0: there is none
	zipf     float64 // exponent of the keys' skew; 0: all alike
	warmup   time.Duration
	duration time.Duration
	drain    time.Duration
}

func main() {
	var o options
	flag.StringVar(&o.queue, "queue", "buffered", fmt.Sprintf("`name` of the queue, one of %v", queue.Names()))
	flag.IntVar(&o.buffer, "buffer", 0, "messages that may wait; 0: the queue's default (1024; shards and round-robin: 8 x 512)")
	flag.IntVar(&o.workers, "workers", 1, "consumers")
	flag.DurationVar(&o.work, "work", time.Millisecond, "time that a consumer takes for one message")
	flag.BoolVar(&o.busy, "busy", false, "compute for that time instead of waiting")
	flag.Float64Var(&o.rate, "rate", 1000, "messages per second, with the random gaps of many unrelated senders")
	flag.Float64Var(&o.rampTo, "ramp-to", 0, "change the rate evenly to this many per second until the end, with even gaps; 0: do not")
	flag.Float64Var(&o.burst, "burst", 0, "messages per second in the second fifth of the duration, with even gaps throughout; 0: no burst")
	flag.Float64Var(&o.zipf, "zipf", 0, "skew of the keys: the k-th of 1024 comes in proportion to k^-zipf; 0: all alike")
	flag.DurationVar(&o.warmup, "warmup", time.Second, "time before what is counted")
	flag.DurationVar(&o.duration, "duration", 5*time.Second, "time that is counted")
	flag.DurationVar(&o.drain, "drain", 10*time.Second, "longest time for what waits at the end")
	flag.Parse()
	if err := o.check(); err != nil {
		fmt.Fprintln(os.Stderr, "queues:", err)
		os.Exit(2)
	}
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	if err := run(ctx, o, windows.NewWriter(os.Stdout)); err != nil {
		fmt.Fprintln(os.Stderr, "queues:", err)
		os.Exit(1)
	}
}

func (o options) check() error {
	if flag.NArg() > 0 {
		return fmt.Errorf("unexpected argument %q", flag.Arg(0))
	}
	if _, err := queue.New[message](o.queue, queue.Config{Capacity: 1}); err != nil {
		return err
	}
	switch {
	case o.buffer < 0 || o.buffer > 1<<20:
		return errors.New("--buffer is 0 to 1048576 messages (256 MiB)")
	case o.workers < 1 || o.workers > 4096:
		return errors.New("--workers is 1 to 4096")
	case o.work < 0 || o.work > time.Minute:
		return errors.New("--work is 0 to 1m")
	case !(o.rate > 0) || o.rate > 1e6 || !(o.rampTo >= 0) || o.rampTo > 1e6 || !(o.burst >= 0) || o.burst > 1e6:
		return errors.New("--rate is above 0, --ramp-to and --burst not below, all at most 1000000 messages per second")
	case o.rampTo > 0 && o.burst > 0:
		return errors.New("--ramp-to and --burst both say how the rate changes; leave one out")
	case !(o.zipf >= 0) || o.zipf > 10:
		return errors.New("--zipf is 0 to 10")
	case o.duration < 100*time.Millisecond || o.warmup < 0 || o.drain < 0:
		return errors.New("--duration is at least 100ms, --warmup and --drain are not negative")
	}
	return nil
}

func (o options) sharded() bool { return o.queue == "shards" || o.queue == "round-robin" }

// room is how many messages the queue and its consumers hold together.
func (o options) room() int {
	buffer := o.buffer
	switch {
	case o.queue == "unbuffered":
		buffer = 0
	case o.sharded() && buffer == 0:
		buffer = queue.DefaultShards * queue.DefaultShardCapacity
	case o.sharded():
		buffer = max(1, buffer/queue.DefaultShards) * queue.DefaultShards // every shard holds as many
	case buffer == 0:
		buffer = queue.DefaultCapacity
	}
	return buffer + o.workers
}

// schedule is the intended times, over warm-up and duration.
func (o options) schedule() load.Schedule {
	const seed = 1 // every queue gets the same arrivals
	switch {
	case o.rampTo > 0:
		return load.Ramp(o.rate, o.rampTo, o.warmup+o.duration)
	case o.burst > 0:
		part := o.duration / 5 // one before the burst, three to be rid of what it left
		return load.Steps([]workload.Stage{{Rate: o.rate, Length: o.warmup + part}, {Rate: o.burst, Length: part},
			{Rate: o.rate, Length: o.duration - 2*part}})
	}
	return load.Poisson(o.rate, o.warmup+o.duration, seed)
}

// run carries out the experiment and writes its windows and its last line.
func run(ctx context.Context, o options, out *windows.Writer) error {
	q, err := queue.New[message](o.queue, queue.Config{Capacity: o.buffer, Workers: o.workers})
	if err != nil {
		return errors.Join(err, out.Close(err))
	}
	plan := load.Plan{
		Schedule: o.schedule, Connections: o.workers,
		Warmup: o.warmup, Length: o.duration, Drain: o.drain,
		Deliveries: o.room(),
	}
	_, _, err = load.Run(ctx, plan, &driver{options: o, queue: q, keys: newKeys(o.zipf)}, newGauged(out, o, q))
	return errors.Join(err, out.Close(err))
}
