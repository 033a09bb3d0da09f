package diagnose

import (
	"strings"
	"testing"

	"dyno/lab/diagnose/rules"
	"dyno/lab/diagnose/stacks"
)

// TestWaitOfWorkers: no share of the requests' time is known, so none is stated.
func TestWaitOfWorkers(t *testing.T) {
	v := statement{Bottleneck: rules.Wait, Signals: rules.Signals{rules.Throughput: 900, rules.Workers: 4, rules.WorkersWait: 0.9, rules.RunnableWait: 0.2}}
	text := v.Text()
	if !strings.Contains(text, "at 900/s the 4 goroutines that do the work spend 90% of their time waiting") {
		t.Error(text)
	}
	if strings.Contains(text, "Inf") || strings.Contains(text, "runnable") {
		t.Errorf("a share of nothing: %s", text)
	}
}

// TestPlacesInSentences: a sentence about a place has its function, file and line, and is left out
// if no place is known.
func TestPlacesInSentences(t *testing.T) {
	where := []stacks.Site{{Function: "main.f%d", File: "/src/f.go", Line: 12, Share: 0.4}}
	for bound, kind := range map[rules.Bottleneck]string{rules.CPU: "", rules.GC: "", rules.Syscall: "", rules.Lock: rules.Spun, rules.Wait: ""} {
		with := statement{Bottleneck: bound, Kind: kind, Sites: where}
		if text := with.Text(); !strings.Contains(text, "main.f%d (f.go:12)") || strings.Contains(text, "%!") {
			t.Errorf("%s: %s", bound, text)
		}
		with.Sites = nil
		if text := with.Text(); strings.Contains(text, "%!") || strings.HasSuffix(text, " ") {
			t.Errorf("%s without a place: %q", bound, text)
		}
	}
}
