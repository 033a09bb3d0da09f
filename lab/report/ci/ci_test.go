package ci

import (
	"bytes"
	"encoding/xml"
	"errors"
	"regexp"
	"strings"
	"testing"

	"dyno/lab/compare"
	"dyno/lab/record"
	"dyno/lab/report"
	"dyno/lab/report/reporttest"
)

// read parses a JUnit file as another program would.
func read(t *testing.T, r *report.Report, gate *compare.Outcome) (s suite) {
	t.Helper()
	var b bytes.Buffer
	if err := JUnit(&b, r, gate); err != nil {
		t.Fatal(err)
	}
	var all suites
	if err := xml.Unmarshal(b.Bytes(), &all); err != nil {
		t.Fatalf("%v in\n%s", err, b.String())
	}
	return all.Suite
}

func TestJUnit(t *testing.T) {
	made := reporttest.Turns(record.KindCompare)
	r := made.Report()
	for verdict, failures := range map[string]int{compare.Pass: 0, compare.Fail: 1, compare.Undecided: 1} {
		s := read(t, r, &compare.Outcome{Gate: "work>=0.97", Verdict: verdict, Text: verdict + ": the ratio is 0.5"})
		if s.Failures != failures || s.Tests != len(s.Cases) || s.Tests != 1+len(r.Metrics) || s.Cases[0].Name != "gate work>=0.97" {
			t.Errorf("%s: %+v", verdict, s)
		}
	}
	r.Metrics[0].Noise = "the interval includes a noise floor of 9.0%"
	s := read(t, r, nil)
	if last := s.Cases[0].Output; !strings.HasSuffix(last, " Here the interval includes a noise floor of 9.0%.") {
		t.Errorf("the noise floor is not in %q", last)
	}
	if s.Failures != 0 || s.Errors != 0 || s.Tests != len(r.Metrics) {
		t.Errorf("without a gate: %+v", s)
	}
	skipped := 0
	for _, m := range r.Metrics {
		if m.Verdict == compare.NotDecided {
			skipped++
		}
	}
	if s.Skipped != skipped {
		t.Errorf("%d skipped, want the %d that are not decided", s.Skipped, skipped)
	}
}

// An experiment without a result is an error, whatever its names contain.
func TestJUnitOfHostileNames(t *testing.T) {
	r := &report.Report{Name: "a\x00<b>&\"", Outcome: record.Outcome{Status: record.OutcomeInvalid, Reason: "because of ]]> and \x1b[31m"}}
	s := read(t, r, nil)
	if s.Errors != 1 || s.Cases[0].Error == nil || !strings.Contains(s.Cases[0].Error.Message, "because of ]]>") {
		t.Errorf("%+v", s)
	}
}

// line is a line of a benchmark file (golang.org/design/14313-benchmark-format), as this package
// writes it.
var line = regexp.MustCompile(`^(BenchmarkDyno/side=[^ /=]+-\d+ 1 [0-9.e+]+ (req/s|cpu-ns/op)|(pkg|cpu): .+|Unit (req/s|cpu-ns/op) better=(higher|lower))$`)

func TestBenchmarks(t *testing.T) {
	made := reporttest.Turns(record.KindCompare)
	made.Variants[0].Name = "plain" // as in its slices
	var b bytes.Buffer
	if err := Benchmarks(&b, made.Experiment); err != nil {
		t.Fatal(err)
	}
	samples := map[string]int{}
	for l := range strings.Lines(b.String()) {
		l = strings.TrimSuffix(l, "\n")
		if !line.MatchString(l) {
			t.Errorf("not a line of a benchmark: %q", l)
		}
		if f := strings.Fields(l); strings.HasPrefix(l, "Benchmark") {
			samples[f[0]+" "+f[3]]++
		}
	}
	if len(samples) != 4 {
		t.Errorf("samples of %v, want two sides in two units", samples)
	}
	for name, n := range samples {
		if n < compare.MinSamples {
			t.Errorf("%s has %d samples", name, n)
		}
	}
	if err := Benchmarks(&b, &record.Experiment{}); !errors.Is(err, ErrNoSamples) {
		t.Errorf("an empty experiment: %v", err)
	}
}

func TestWord(t *testing.T) {
	for name, want := range map[string]string{"main@1a2b": "main@1a2b", "feature/x y=1": "feature_x_y_1", "": "_", "a\nb": "a_b"} {
		if got := word(name); got != want {
			t.Errorf("%q: %q, want %q", name, got, want)
		}
	}
}

func TestGate(t *testing.T) {
	var b bytes.Buffer
	if err := Gate(&b, &compare.Outcome{Gate: "cpu<=1.1", Text: "pass: it is"}); err != nil || b.String() != "**Gate** `cpu<=1.1`: pass: it is\n\n" {
		t.Errorf("%q, %v", b.String(), err)
	}
}
