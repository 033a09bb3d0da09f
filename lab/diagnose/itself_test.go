package diagnose

import (
	"strings"
	"testing"

	"dyno/lab/diagnose/rules"
	"dyno/lab/record"
)

// A gateway calls its own process, whose inner requests wait for one goroutine that syncs a file.
func TestAServiceThatCallsItself(t *testing.T) {
	outer := wait("select", 30, "runtime.selectgo", "net/http.(*persistConn).roundTrip", "net/http.(*Client).Do", "main.gateway")
	inner := wait("chan receive", 29, "runtime.chanrecv1", "main.put")
	inner.WokenBy, inner.Wakers, inner.WakerBusy = stack(0, "main.run").Frames, 1, 0.98
	syncs := record.Wait{Reason: "system call", Stack: stack(0, "syscall.Fsync", "os.(*File).Sync", "main.run").Frames, Seconds: 0.4, Count: 50, Goroutines: 1}
	for _, c := range []struct {
		name     string
		opened   *record.Outgoing
		kind, in string
	}{
		{"over loopback", &record.Outgoing{Own: 30}, "channel", "main.put"},
		{"over a pipe", &record.Outgoing{}, "channel", "main.put"},
		{"itself, and others", &record.Outgoing{Own: 30, Others: 2}, "channel", "main.put"},
		{"only others", &record.Outgoing{Others: 30}, "network", "main.gateway"},
		{"not seen", nil, "network", "main.gateway"},
	} {
		r := profiled(32, 200, []record.Stack{stack(1e9, "main.put")}, outer, inner, syncs)
		r.System.Outgoing = c.opened
		d := NewSubject("v", append(sweep(100, 200, 200), r)).Diagnose(rules.Defaults)
		if d.Bottleneck != rules.Wait || d.Kind != c.kind || len(d.Sites) == 0 || d.Sites[0].Function != c.in {
			t.Errorf("%s: %s %s in %+v", c.name, d.Bottleneck, d.Kind, d.Sites)
		}
		if c.kind == "channel" && !strings.Contains(d.Headline, "one goroutine, main.run, ends these waits and is busy 98% of the time, 82% of it in a wait for a file at main.go:7") {
			t.Errorf("%s: %s", c.name, d.Headline)
		}
	}
}

// A service that rejects requests beyond what it carries: the answer says so first, with codes.
func TestAServiceThatShedsLoad(t *testing.T) {
	runs := sweep(1000, 2000, 2600, 9000)
	last := runs[3]
	last.Totals.Ended, last.Totals.Completed, last.Totals.Failed = 9000, 9000, 6500
	last.Totals.Status = map[string]int64{"200": 2500, "429": 6300, "503": 200}
	last.Totals.Errors = map[string]int64{"status": 6500, "check": 0, "closed": 0}
	d := NewSubject("v", runs).Diagnose(rules.Defaults)
	if want := "with 128 requests in flight, 72% of them were refused (429 Too Many Requests: 6,300, 503 Service Unavailable: 200)"; d.Sheds != want {
		t.Errorf("%q, want %q", d.Sheds, want)
	}
	if _, seen := d.Signals[rules.Growth]; seen || !strings.Contains(d.Next, "a higher limit") {
		t.Errorf("%v: %s", d.Signals[rules.Growth], d.Next)
	}
	if d.PeakPerS != 2600 {
		t.Errorf("it serves %v/s", d.PeakPerS)
	}
}

// A rate limiter refuses nearly all that one client sends in a closed loop: what it serves is the
// capacity. Errors of other kinds from the first client on are failures.
func TestARateLimiterSheds(t *testing.T) {
	limited := func(status string) Diagnosis {
		runs := sweep(17_000, 52_000)
		for _, r := range runs {
			r.Totals.Failed = r.Totals.Ended - 100
			r.Totals.Status = map[string]int64{"200": 100, status: r.Totals.Failed}
			r.System.TargetCPU = 1.9
		}
		return NewSubject("v", runs).Diagnose(rules.Defaults)
	}
	d := limited("429")
	if want := "with requests one at a time, 99% of them were refused (429 Too Many Requests: 16,900)"; d.Sheds != want {
		t.Errorf("%q, want %q", d.Sheds, want)
	}
	if want := "The service refuses what it does not carry: the 100/s that it serves are its capacity, and over 99% of the requests at 8 requests in flight and 100/s failed (429 Too Many Requests: 51,900)."; d.Headline != want || d.Text != want {
		t.Errorf("%q, %q, want %q", d.Headline, d.Text, want)
	}
	if !strings.HasPrefix(d.Next, "a higher limit where it refuses load") {
		t.Errorf("%q", d.Next)
	}
	for _, status := range []string{"500", "503"} {
		if d := limited(status); d.Sheds != "" || !strings.Contains(d.Text, "its capacity was not reached") {
			t.Errorf("%s: %q, %q", status, d.Sheds, d.Text)
		}
	}
}
