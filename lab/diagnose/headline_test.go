package diagnose

import (
	"fmt"
	"strings"
	"testing"

	"dyno/lab/diagnose/rules"
	"dyno/lab/record"
)

// computing returns runs of a service that uses up the CPU, with the stacks of its CPU profile.
func computing(of ...record.Stack) []*record.Run {
	runs := append(sweep(1000, 1500, 1500), profiled(32, 1500, of))
	for _, r := range runs {
		r.System.TargetCPU = 1.9
	}
	return runs
}

// No function has much of the CPU time: the verdict names the branch of calls that has, once, and
// the path to it.
func TestCPUSpreadOverABranch(t *testing.T) {
	var of []record.Stack
	for i := range 9 {
		of = append(of, stack(6, append([]string{fmt.Sprintf("main.part%d", i), "main.query", "main.list", "main.handle"}, handler...)...))
	}
	of = append(of, stack(8, append([]string{"encoding/json.Marshal", "main.query", "main.list", "main.handle"}, handler...)...))
	for i := range 10 {
		of = append(of, stack(3.8, append([]string{fmt.Sprintf("main.other%d", i), "main.handle"}, handler...)...))
	}
	d := NewSubject("v", computing(of...)).Diagnose(rules.Defaults)
	if want := "The CPU bounds it: 62% of its CPU time is spread over main.query (main.go:7) and what it calls, on the path main.handle > main.list > main.query."; d.Headline != want {
		t.Errorf("%q, want %q", d.Headline, want)
	}
	seen := map[string]bool{}
	for _, p := range d.Sites {
		if seen[p.Function] {
			t.Errorf("%s has two shares: %+v", p.Function, d.Sites)
		}
		seen[p.Function] = true
	}
	if !strings.HasPrefix(d.Next, "make main.query (main.go:7) cheaper") {
		t.Errorf("%q", d.Next)
	}
}

// Nor has any branch: the verdict does not advise work on a function of no importance.
func TestCPUSpreadOverHandlers(t *testing.T) {
	var of []record.Stack
	for i := range 20 {
		of = append(of, stack(5, append([]string{fmt.Sprintf("main.handle%d", i)}, handler...)...))
	}
	d := NewSubject("v", computing(of...)).Diagnose(rules.Defaults)
	if want := "The CPU bounds it: its CPU time is spread over many functions, the largest of which, main.handle0 (main.go:7), takes 5%."; d.Headline != want {
		t.Errorf("%q, want %q", d.Headline, want)
	}
	if !strings.Contains(d.Next, "-pgo") || strings.Contains(d.Next, "at most") {
		t.Errorf("%q", d.Next)
	}
}

// TLS handshakes take most of the CPU time, none of it in the service's own code.
func TestAFindingLeads(t *testing.T) {
	shaking := stack(2.8e9, "crypto/internal/fips140/bigmod.addMulVVW2048", "crypto/tls.(*Conn).serverHandshake", "crypto/tls.(*Conn).handshakeContext", "net/http.(*conn).serve")
	for _, own := range []float64{0.4e9, 2e9} {
		runs := computing(shaking, stack(own, append([]string{"encoding/json.Marshal", "main.handle"}, handler...)...), stack(0.4e9, "net/http.(*conn).readRequest", "net/http.(*conn).serve"))
		e := &record.Experiment{Kind: record.KindDiagnose, Variants: []record.Variant{{Name: "v"}}, Runs: runs}
		d := Diagnose(e)[0]
		leads := own < 1e9
		if got := strings.HasPrefix(d.Headline, "The CPU bounds it: TLS handshakes take 78% of the CPU time"); got != leads || d.Bottleneck != rules.CPU {
			t.Errorf("%g: %q", own, d.Headline)
		}
		if got := strings.HasPrefix(d.Next, "keep connections open") && strings.HasSuffix(d.Next, "the throughput)"); got != leads {
			t.Errorf("%g: %q", own, d.Next)
		}
	}
}

// Near its memory limit a service collects more often than GOGC sets: a change of GOGC would show
// nothing, and is not advised.
func TestCollectingAtTheMemoryLimit(t *testing.T) {
	runs := computing(stack(3e9, "runtime.gcDrain", "runtime.gcBgMarkWorker"), stack(1e9, append([]string{"main.handle"}, handler...)...))
	if p := predict(rules.Defaults, NewSubject("v", runs)); p.change == nil || p.change.GOGC == 0 {
		t.Fatalf("%+v", p)
	}
	for _, r := range runs {
		r.Target.MemoryLimit, r.Totals.Server.PeakRSS = 64<<20, 62<<20
		r.Target.Agent, r.Target.Command = false, []string{"shop"}
	}
	d := NewSubject("v", runs).Diagnose(rules.Defaults)
	if p := predict(rules.Defaults, NewSubject("v", runs)); d.Bottleneck != rules.GC || p.change == nil || p.change.GOGC == 0 {
		t.Errorf("without the agent: %s, %+v", d.Bottleneck, p)
	}
	if !strings.Contains(d.Headline, "which may be since its memory is near its limit (GOMEMLIMIT) of 64 MiB") || !strings.Contains(d.Next, "or raise GOGC (with a higher GOMEMLIMIT than 64 MiB") {
		t.Errorf("%q, %q", d.Headline, d.Next)
	}
	for _, r := range runs {
		r.Target.Agent, r.Series = true, append(r.Series, record.Window{Server: &record.Server{HeapGoal: 60 << 20, HeapLive: 55 << 20}})
	}
	d = NewSubject("v", runs).Diagnose(rules.Defaults)
	if p := predict(rules.Defaults, NewSubject("v", runs)); d.Bottleneck != rules.GC || p.change != nil {
		t.Errorf("%s, %+v", d.Bottleneck, p)
	}
	if !strings.Contains(d.Headline, "since its memory is near its limit (GOMEMLIMIT) of 64 MiB") || !strings.HasPrefix(d.Next, "a higher GOMEMLIMIT than 64 MiB") {
		t.Errorf("%q, %q", d.Headline, d.Next)
	}
}
