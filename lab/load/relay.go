package load

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"dyno/lab/record"

	"github.com/HdrHistogram/hdrhistogram-go"
)

// Window adds a whole window that another process recorded, in place of single requests. Windows
// come in order, and w.Phase decides what counts; quantiles are computed anew from the
// histograms. All shards of the recording must receive windows in this way. Window keeps neither
// w nor hists.
func (s *Shard) Window(w *record.Window, hists map[string]*hdrhistogram.Histogram) error {
	t, err := windowCountsOf(hists)
	if err != nil {
		return err
	}
	if n := t.warm + t.answered; n > 0 && n != w.Client.Ended && !s.rec.plan.Steps {
		return fmt.Errorf("completed is %d where the response histograms hold %d", w.Client.Ended, n)
	}
	s.relayed = true
	s.Advance(w.Start)
	iv := s.cur
	iv.phase, iv.client = w.Phase, w.Client
	if w.Server != nil {
		iv.gauges = w.Server.Gauges
	}
	iv.finished = s.backlog + w.Client.Offered - w.Client.Backlog
	s.backlog = w.Client.Backlog
	if w.Phase != record.PhaseWarmup {
		iv.measured = t.counts(&w.Client, s.rec.plan.Steps)
		s.reported.add(&iv.measured)
	}
	iv.more = map[string]*hdrhistogram.Histogram{}
	for tag, h := range hists {
		own := s.rec.histogram()
		iv.more[tag] = own
		if dropped := own.Merge(h); dropped > 0 {
			return fmt.Errorf("histogram %s holds %d values above the highest of %d ns", tag, dropped, own.HighestTrackableValue())
		}
	}
	s.Advance(w.Start + window)
	return nil
}

// Agent adds what another process reported at its end, in addition to its windows: its figures as
// a load agent, the instant of its latest answer (0: none), and the number after its last
// request's. The sums correct those of the windows, which do not show which of their requests
// were measured.
func (s *Shard) Agent(a record.Agent, sums record.Totals, last int64, next uint64) {
	s.agent, s.lastDone, s.seq = &a, last, next
	s.missing = counts{offered: sums.Offered - s.reported.offered, sent: sums.Sent - s.reported.sent, completed: sums.Ended - s.reported.completed,
		failed: sums.Failed - s.reported.failed, unfinished: sums.Unfinished - s.reported.unfinished,
		failedCheck: sums.Errors[failedCheck] - s.reported.failedCheck, failedStatus: sums.Errors[failedStatus] - s.reported.failedStatus}
	for kind, n := range s.reported.errors {
		s.missing.errors[kind] = sums.Errors[Status(kind).String()] - n
	}
}

// windowCounts holds the outcomes of a window's requests, counted from its histograms.
type windowCounts struct {
	answered   int64 // measured requests that completed
	unfinished int64
	warm       int64 // completed requests made before the measured time
	warmFailed int64 // the part of warm that failed by status
	sent       int64
	delivery   int64
	bad        int64 // answered with a status of 400 or above
	errors     [statusEnd]int64
}

func windowCountsOf(hists map[string]*hdrhistogram.Histogram) (t windowCounts, err error) {
	for tag, h := range hists {
		kind, _, _ := strings.Cut(tag, ".")
		n := h.TotalCount()
		switch kind {
		case record.HistService, record.HistOpening, record.HistGap, record.HistFlow:
		case record.HistLag:
			t.sent += n
		case record.HistDelivery:
			t.delivery += n
		case record.HistResponse, warmTag:
			name, _ := splitTag(tag)
			status, ok := parseStatus(name)
			if !ok {
				return t, fmt.Errorf("histogram %q: unknown status %q", tag, name)
			}
			t.add(kind == warmTag, status, n)
		default:
			return t, fmt.Errorf("histogram %q: a tag begins with response, service, lag, delivery, opening, gap, flow or warmup", tag)
		}
	}
	return t, nil
}

func (t *windowCounts) add(warm bool, status Status, n int64) {
	failure := !status.protocol() && status != OK
	switch {
	case status == Unfinished:
		t.unfinished += n
	case warm:
		t.warm += n
		if failure || status >= 400 {
			t.warmFailed += n
		}
	default:
		t.answered += n
		if failure {
			t.errors[status] += n
		} else if status >= 400 {
			t.bad += n
		}
	}
}

// counts returns the sums of a measured window. The histograms do not show which requests failed
// by status and which by a check: a failed request with a status of 400 or above counts as failed
// by status, any other as failed by a check. A request of the warm-up that failed a check
// afterwards is counted, too. The number of sent requests is the number of send-lag values, which
// only measured requests have. With steps the histograms hold more values than there were
// requests.
func (t *windowCounts) counts(c *record.Client, steps bool) counts {
	m := counts{
		offered: c.Offered, sent: t.sent, completed: t.answered, unfinished: t.unfinished,
		delivered: min(c.Delivered, t.delivery), undelivered: max(0, t.delivery-c.Delivered), errors: t.errors,
	}
	if t.answered+t.warm == 0 || steps {
		m.completed = c.Ended
	}
	if steps {
		m.sent, m.unfinished = c.Sent, 0
	}
	errors := int64(0)
	for _, n := range t.errors {
		errors += n
	}
	rest := max(0, min(c.Failed-errors-t.warmFailed, m.completed-errors))
	m.failed = errors + rest
	m.failedStatus = min(rest, t.bad)
	m.failedCheck = rest - m.failedStatus
	return m
}

// parseStatus parses the output of Status.String.
func parseStatus(name string) (Status, bool) {
	if i := slices.Index(statusNames[:], name); i >= 0 {
		return Status(i), true
	}
	code, err := strconv.ParseUint(name, 10, 16)
	return Status(code), err == nil && code >= 100 && code <= 999
}
