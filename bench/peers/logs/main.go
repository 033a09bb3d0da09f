// Command logs lets writers append records of 256 bytes to a log, each on the disk before the
// append returns, and prints them as the windows of a job. The logs wal, tidwall and pebble are in
// its own process; redis-server and NATS JetStream are servers of their own, which it starts, over
// loopback.
//
//	logs --log wal --writers 64 --data DIR
//	logs --log redis --writers 8 --batch 64 --data DIR     pipelines
//	logs --log nats --writers 8 --batch 64 --data DIR      atomic batches
//	logs --log nats --outstanding 512 --data DIR           one publisher, many outstanding
//	logs --log disk --writers 1 --batch 64 --data DIR      no log: pwrite and fdatasync
//
// It is not for reading logs, nor for Redis and JetStream as they come, which sync every second and
// every two minutes. The writers and the server have ended when it ends.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"maps"
	"os"
	"slices"
	"strings"

	"dyno/bench/peers/callers"
	"dyno/parts/progress"
)

type options struct {
	writers     int
	batch       int // records in an append
	outstanding int // 0: each writer waits for its acknowledgement
	dir         string
}

// opened is a log that is ready for writers.
type opened struct {
	writer func() (write func() error, err error) // returns what one writer appends a batch with
	// stream appends with that many records outstanding until ctx ends; nil if the log cannot.
	stream func(ctx context.Context, w *progress.Writer, outstanding int) error
	close  func() error
}

var logs = map[string]func(context.Context, options) (opened, error){
	"disk":          openDisk,
	"wal":           local(openWAL),
	"tidwall":       local(openTidwall),
	"tidwall-group": local(openTidwallGroup),
	"pebble":        local(openPebble),
	"redis":         openRedis,
	"nats":          openNATS,
}

func main() {
	names := strings.Join(slices.Sorted(maps.Keys(logs)), ", ")
	var o options
	name := flag.String("log", "wal", "`name` of the log: "+names)
	flag.IntVar(&o.writers, "writers", 64, "writers, each with one append after the other; of a server each has a connection")
	flag.IntVar(&o.batch, "batch", 1, "records in an append")
	flag.IntVar(&o.outstanding, "outstanding", 0, "records that one publisher has sent and that are not acknowledged (nats); 0: writers")
	flag.StringVar(&o.dir, "data", "", "`folder` of the log, on the disk in question")
	serve := flag.Bool("serve", false, "be the server of NATS, and print its URL")
	flag.Parse()
	callers.Main("logs", func(ctx context.Context) error {
		open, known := logs[*name]
		switch {
		case !known || o.dir == "":
			return fmt.Errorf("--log %q --data %q: there are the logs %s, and each needs a folder", *name, o.dir, names)
		case *serve:
			return serveStream(ctx, o.dir, os.Stdout)
		}
		l, err := open(ctx, o)
		if err != nil {
			return err
		}
		return errors.Join(o.run(ctx, *name, l), l.close())
	})
}

func (o options) run(ctx context.Context, name string, l opened) error {
	switch {
	case o.outstanding == 0:
		return callers.Run(ctx, os.Stdout, o.writers, o.batch, func(int) (func() error, error) { return l.writer() })
	case l.stream == nil:
		return fmt.Errorf("--outstanding %d: each append to %s waits for its acknowledgement", o.outstanding, name)
	}
	w := progress.New(os.Stdout)
	err := l.stream(ctx, w, o.outstanding)
	return errors.Join(err, w.Close(err))
}
