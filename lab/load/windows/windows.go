// Package windows adds a job's own windows to a recording. A job is a command that works through
// units without a load generator and prints its progress, window by window. Its stdout is
// newline-delimited JSON: one line for each finished window of 100 ms, and a last line that marks
// its orderly end:
//
//	{"t_ns":1700000000,"phase":"measure","client":{"offered":20,"completed":19,"backlog":1},"gauges":{"depth":3},"hists":{"response.ok":"HISTFAAA..."}}
//	{"end":true}
//
// The fields of a line:
//   - t_ns is the window's start: CLOCK_MONOTONIC in ns, a multiple of 100 ms, above the one
//     before. An empty window may be left out.
//   - phase is warmup, measure or drain, in this order. The phases decide what counts; the first
//     and last window of phase measure bound the measured time.
//   - client is a record.Client. Its quantiles may be left out: they are read from the histograms.
//   - gauges are numbers of the job's own choice, by name.
//   - hists are histograms of ns up to an hour, with at most three significant digits, by tag: in
//     base64 of HdrHistogram's V2 compressed encoding, or as single values ([20133700,20415022]).
//     The tags are response.STATUS or response.STATUS.CLASS, from the intended time (STATUS is ok,
//     timeout, unfinished, 200, ...); warmup.STATUS likewise, for requests made before the measured
//     time; service; lag; delivery; opening and gap (of load/sessions); flow (of load/flows). If a
//     window has response or warmup histograms, the number of their values, without unfinished,
//     must equal client.completed.
//   - end is true in the last line alone; an error next to it says that the job failed, and why.
//
// A Go program writes these lines by passing a Writer to load.Run as the sink; any other program
// prints them. New makes the driver that reads them. The package does not start the command and
// does not choose its work. No goroutine outlives Drive.
package windows

import (
	"fmt"
	"strings"

	"dyno/lab/record"
)

// Limits of a stream, far above what load.Run writes.
const (
	maxLine   = 4 << 20     // bytes; the histograms of a window take a few hundred
	maxTags   = 128         // distinct tags in a stream: each takes about 220 kB until the run's end
	maxGauges = 256         // distinct gauges in a stream
	maxName   = 128         // bytes of a tag or of a gauge's name
	maxCount  = int64(1e12) // any count in a window: so low that no sum over days can overflow
	maxCores  = 1e5         // cores used in a window
)

// windowLine is one finished window.
type windowLine struct {
	Start  int64                `json:"t_ns"`
	Phase  string               `json:"phase"`
	Client record.Client        `json:"client"`
	Gauges map[string]float64   `json:"gauges,omitempty"`
	Hists  map[string]histogram `json:"hists,omitempty"` // histograms by tag
}

type endLine struct {
	End   bool   `json:"end"`
	Error string `json:"error,omitempty"`
}

// checkTag checks the form of a tag; package load decides which tags exist.
func checkTag(tag string) error {
	kind, _, divided := strings.Cut(tag, ".")
	switch kind {
	case record.HistService, record.HistLag, record.HistDelivery, record.HistOpening, record.HistFlow, record.HistGap:
		if divided {
			return fmt.Errorf("histogram %.*q: %s is not divided by status or class", maxName, tag, kind)
		}
	}
	if err := checkName(tag); err != nil {
		return fmt.Errorf("histogram %w", err)
	}
	return nil
}

// checkName rejects characters that separate fields in a histogram log or on a page.
func checkName(name string) error {
	if name == "" || len(name) > maxName {
		return fmt.Errorf("%.*q: a name has 1 to %d bytes", maxName, name, maxName)
	}
	if i := strings.IndexFunc(name, func(c rune) bool { return c <= ' ' || c == ',' || c == '"' || c == 0x7f || c == '\uFFFD' }); i >= 0 {
		return fmt.Errorf("%q: a name has no spaces, commas, quotes or control characters", name)
	}
	return nil
}

// checkClient rejects counts whose sums over a run could overflow, and counts that contradict
// each other.
func checkClient(c *record.Client) error {
	for _, n := range []struct {
		name  string
		value int64
	}{
		{"offered", c.Offered}, {"sent", c.Sent}, {"completed", c.Ended}, {"failed", c.Failed},
		{"delivered", c.Delivered}, {"refused", c.Refused}, {"backlog", c.Backlog},
		{"frames", c.Frames}, {"bytes_in", c.Bytes}, {"lost", c.Lost},
	} {
		if n.value < 0 || n.value > maxCount {
			return fmt.Errorf("client.%s is %d, outside 0 to %d", n.name, n.value, maxCount)
		}
	}
	switch {
	case c.Failed > c.Ended:
		return fmt.Errorf("client.failed is %d of %d completed: what failed is counted in both", c.Failed, c.Ended)
	case c.Refused > c.Failed:
		return fmt.Errorf("client.refused is %d of %d failed: what was refused is counted in both", c.Refused, c.Failed)
	case c.CPU < 0 || c.CPU > maxCores:
		return fmt.Errorf("client.cpu is %v, outside 0 to %.0f cores", c.CPU, maxCores)
	}
	return nil
}
