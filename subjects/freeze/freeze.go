// Command freeze answers immediately, except that it freezes every answer for a while at regular
// times. The latency distribution of an open-loop load on it is known from arithmetic, so a load
// generator's percentiles can be checked: a request that arrives x into a freeze waits freeze-x.
//
// With --freeze 200ms --every 2s, a tenth of evenly spaced requests waits, evenly between 0 and
// 200 ms: p95 100 ms, p99 180 ms, p99.9 198 ms.
//
// The freezes are at [k*every, k*every+freeze) of CLOCK_MONOTONIC, the clock of the load
// generator's windows. Connections are accepted meanwhile; their answers wait like all others.
package main

import (
	"flag"
	"fmt"
	"net/http"
	"os"
	"time"

	"dyno/agent/monotonic"
	"dyno/subjects/subject"
)

// answer is as long as the answers of the load generator's other yardsticks: 128 bytes.
var answer = make([]byte, 128)

func main() {
	var addresses subject.Flags
	var f freezer
	fs := flag.NewFlagSet("freeze", flag.ContinueOnError)
	addresses.Declare(fs)
	fs.DurationVar(&f.length, "freeze", 200*time.Millisecond, "`length` of a freeze; 0: none")
	fs.DurationVar(&f.every, "every", 2*time.Second, "`interval` between the beginnings of freezes")
	subject.Parse(fs, os.Args[1:])
	if err := f.check(); err != nil {
		subject.Usage("freeze", err)
	}
	subject.Main(addresses, subject.Subject{Name: "freeze", Handler: f,
		Ready: map[string]any{"freeze_ns": f.length, "every_ns": f.every}})
}

// freezer holds the times of the freezes.
type freezer struct{ length, every time.Duration }

func (f freezer) check() error {
	if f.every <= 0 || f.length < 0 || f.length >= f.every {
		return fmt.Errorf("--freeze is %v and --every %v; a freeze must be shorter than the interval", f.length, f.every)
	}
	return nil
}

// left returns the remaining time that an answer due now (CLOCK_MONOTONIC, ns) is frozen.
func (f freezer) left(now int64) time.Duration {
	into := time.Duration(now % int64(f.every))
	return max(f.length-into, 0)
}

func (f freezer) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	for {
		left := f.left(monotonic.Now())
		if left == 0 {
			break
		}
		// Timers may fire late by up to 1 ms, never early by the clock they are set on; the loop holds
		// should the two clocks differ by a hair.
		select {
		case <-time.After(left):
		case <-r.Context().Done():
			return
		}
	}
	w.Header().Set("Content-Type", "application/octet-stream")
	w.Write(answer)
}
