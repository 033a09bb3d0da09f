// Command wrk runs wrk and prints what it did as a job: wrk reports its requests only at its end,
// so they are spread evenly over the windows in which it ran, and have no latencies.
//
//	wrk --url http://127.0.0.1:8080/ --connections 64 --warmup 1s --duration 4s
//
// Its CPU time is that of wrk. It is not for latency: wrk measures it in the closed model from when
// a request was sent. It starts one process, which has ended when it ends.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"regexp"
	"strconv"
	"strings"
	"time"

	"dyno/agent/monotonic"
	"dyno/bench/peers/callers"
	"dyno/lab/load/windows"
	"dyno/lab/record"
)

func main() {
	url := flag.String("url", "", "`URL` of the requests")
	connections := flag.Int("connections", 64, "connections")
	threads := flag.Int("threads", 1, "threads")
	warmup := flag.Duration("warmup", time.Second, "time that does not count")
	duration := flag.Duration("duration", 4*time.Second, "time that counts")
	flag.Parse()
	callers.Main("wrk", func(ctx context.Context) error {
		out := windows.NewWriter(os.Stdout)
		// It ends a second later than what is measured: the CPU time of a process that has ended
		// cannot be read.
		seconds := int((*warmup + *duration + 2*time.Second - 1) / time.Second)
		begin := (monotonic.Now()/window + 1) * window
		time.Sleep(time.Duration(begin - monotonic.Now()))
		n, err := run(ctx, *url, *connections, *threads, seconds)
		if err == nil {
			err = spread(out, begin, n, seconds, *warmup, *duration)
		}
		return errors.Join(err, out.Close(err))
	})
}

const window = int64(record.WindowLength)

func run(ctx context.Context, url string, connections, threads, seconds int) (requests int64, err error) {
	path, err := exec.LookPath("wrk")
	if err != nil {
		return 0, errors.New("wrk is not installed: apt-get install wrk, or brew install wrk")
	}
	cmd := exec.CommandContext(ctx, path, "-t"+strconv.Itoa(threads), "-c"+strconv.Itoa(connections), "-d"+strconv.Itoa(seconds), url)
	out, err := cmd.CombinedOutput()
	if err != nil {
		return 0, fmt.Errorf("wrk: %w: %.500s", err, out)
	}
	return completed(string(out))
}

var requestsIn = regexp.MustCompile(`(?m)^\s*(\d+) requests in `)

// completed reads how many requests wrk says that it made.
func completed(out string) (int64, error) {
	m := requestsIn.FindStringSubmatch(out)
	if m == nil || strings.Contains(out, "Socket errors") || strings.Contains(out, "Non-2xx") {
		return 0, fmt.Errorf("wrk did not run well:\n%.1000s", out)
	}
	return strconv.ParseInt(m[1], 10, 64)
}

// spread prints n requests evenly over the windows of some seconds.
func spread(out *windows.Writer, begin, n int64, seconds int, warmup, duration time.Duration) error {
	windows := int64(seconds) * int64(time.Second) / window
	for k := range windows {
		done := n*(k+1)/windows - n*k/windows
		w := record.Window{Start: begin + k*window, Phase: record.PhaseMeasure, Client: record.Client{Offered: done, Sent: done, Ended: done}}
		switch at := time.Duration(k * window); {
		case at < warmup:
			w.Phase = record.PhaseWarmup
		case at >= warmup+duration:
			w.Phase = record.PhaseDrain
		}
		if err := out.Window(w, nil); err != nil {
			return err
		}
	}
	return nil
}
