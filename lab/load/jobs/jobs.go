// Package jobs is the third kind of load: a command that works through units by itself and prints how it
// went, window by window. Its stdout is newline-delimited JSON, one line for each finished window of
// 100 ms, and a last line that says that it came to its end:
//
//	{"t_ns":1700000000,"phase":"measure","client":{"offered":20,"completed":19,"backlog":1},"gauges":{"depth":3},"hists":{"response.ok":"HISTFAAA..."}}
//	{"end":true}
//
// The fields of a line:
//   - t_ns is when the window began: CLOCK_MONOTONIC in ns, a multiple of 100 ms, above the one before.
//     A window in which nothing happened may be left out.
//   - phase is warmup, measure or drain, in this order. The phases say what counts, and the first and
//     last window of phase measure between what instants.
//   - client is a record.Client. Its quantiles may be left out: they are read from the histograms.
//   - gauges are numbers of the job's own choice, by name.
//   - hists are histograms of ns up to an hour, with at most three significant digits, in base64 of
//     HdrHistogram's V2 compressed encoding, or the values one by one ([20133700,20415022]), by tag: response.STATUS or response.STATUS.CLASS, from the
//     intended time (STATUS is ok, timeout, unfinished, 200, ...); warmup.STATUS likewise, for what was
//     offered before the measured time; service; lag; delivery. Where a window has response or warmup
//     histograms they hold, unfinished apart, as many values as client.completed says.
//   - end is true in the last line alone; an error beside it says that the job failed, and why.
//
// A Go program writes these lines with a Writer as load.Run's sink; anything else prints them. New makes
// the driver that reads them. The package is not for starting the command (target) nor for deciding what
// it does: what runs how often is the command's affair. No goroutine outlives Drive.
package jobs

import (
	"fmt"
	"strings"

	"dyno/lab/record"
)

// Limits of a stream, far above what load.Run writes.
const (
	maxLine   = 4 << 20     // bytes; a histogram of a window is some hundred
	maxTags   = 128         // different ones in a stream: each takes about 220 kB until the run's end
	maxGauges = 256         // different ones in a stream
	maxName   = 128         // bytes of a tag or of a gauge's name
	maxCount  = int64(1e12) // of anything in a window: a run of days cannot overflow a sum of them
	maxCores  = 1e5         // used in a window
)

// windowLine is one finished window.
type windowLine struct {
	Start  int64                `json:"t_ns"`
	Phase  string               `json:"phase"`
	Client record.Client        `json:"client"`
	Gauges map[string]float64   `json:"gauges,omitempty"`
	Hists  map[string]histogram `json:"hists,omitempty"` // by tag
}

// endLine is the last one.
type endLine struct {
	End   bool   `json:"end"`
	Error string `json:"error,omitempty"`
}

// checkTag bounds what a tag may look like; which ones there are is load's to say.
func checkTag(tag string) error {
	kind, _, divided := strings.Cut(tag, ".")
	switch kind {
	case record.HistService, record.HistLag, record.HistDelivery:
		if divided {
			return fmt.Errorf("histogram %.*q: %s is not divided by status or class", maxName, tag, kind)
		}
	}
	if err := checkName(tag); err != nil {
		return fmt.Errorf("histogram %w", err)
	}
	return nil
}

// checkName keeps out what would break a log of histograms or a page: both separate by these.
func checkName(name string) error {
	if name == "" || len(name) > maxName {
		return fmt.Errorf("%.*q: a name has 1 to %d bytes", maxName, name, maxName)
	}
	if i := strings.IndexFunc(name, func(c rune) bool { return c <= ' ' || c == ',' || c == '"' || c == 0x7f || c == '\uFFFD' }); i >= 0 {
		return fmt.Errorf("%q: a name has no spaces, commas, quotes or control characters", name)
	}
	return nil
}

// checkClient keeps numbers within what sums over a run can hold.
func checkClient(c *record.Client) error {
	for _, n := range []struct {
		name  string
		value int64
	}{
		{"offered", c.Offered}, {"sent", c.Sent}, {"completed", c.Completed}, {"failed", c.Failed},
		{"delivered", c.Delivered}, {"refused", c.Refused}, {"backlog", c.Backlog},
	} {
		if n.value < 0 || n.value > maxCount {
			return fmt.Errorf("client.%s is %d, outside 0 to %d", n.name, n.value, maxCount)
		}
	}
	switch {
	case c.Failed > c.Completed:
		return fmt.Errorf("client.failed is %d of %d completed: what failed is counted in both", c.Failed, c.Completed)
	case c.Refused > c.Failed:
		return fmt.Errorf("client.refused is %d of %d failed: what was refused is counted in both", c.Refused, c.Failed)
	case c.CPU < 0 || c.CPU > maxCores:
		return fmt.Errorf("client.cpu is %v, outside 0 to %.0f cores", c.CPU, maxCores)
	}
	return nil
}
