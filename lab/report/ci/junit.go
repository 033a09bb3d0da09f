// Package ci writes the result of a comparison in the forms that systems for continuous integration
// and other tools read: JUnit XML, the lines of Go benchmarks that benchstat reads, and Markdown
// with the gate's verdict first.
//
// It is not for judging: compare does. It starts no goroutines.
package ci

import (
	"encoding/xml"
	"fmt"
	"io"
	"time"

	"dyno/lab/compare"
	"dyno/lab/record"
	"dyno/lab/report"
	"dyno/lab/report/format"
)

// suites is the root of a JUnit file.
type suites struct {
	XMLName xml.Name `xml:"testsuites"`
	Suite   suite    `xml:"testsuite"`
}

type suite struct {
	Name       string     `xml:"name,attr"`
	Tests      int        `xml:"tests,attr"`
	Failures   int        `xml:"failures,attr"`
	Errors     int        `xml:"errors,attr"`
	Skipped    int        `xml:"skipped,attr"`
	Timestamp  string     `xml:"timestamp,attr,omitempty"`
	Properties []property `xml:"properties>property,omitempty"`
	Cases      []testcase `xml:"testcase"`
}

type property struct {
	Name  string `xml:"name,attr"`
	Value string `xml:"value,attr"`
}

type testcase struct {
	Class   string  `xml:"classname,attr"`
	Name    string  `xml:"name,attr"`
	Failure *reason `xml:"failure"`
	Error   *reason `xml:"error"`
	Skipped *reason `xml:"skipped"`
	Output  string  `xml:"system-out,omitempty"`
}

type reason struct {
	Message string `xml:"message,attr"`
	Type    string `xml:"type,attr,omitempty"`
}

// JUnit writes a comparison as a suite of tests: one for the gate, which fails unless it passed,
// as the command does; and one for each metric, which is skipped if it is not decided. An
// experiment without a result is an error. gate may be nil.
func JUnit(w io.Writer, r *report.Report, gate *compare.Outcome) error {
	class := "dyno." + r.Name
	s := suite{Name: "dyno compare " + r.Name}
	if !r.Started.IsZero() {
		s.Timestamp = r.Started.UTC().Format(time.RFC3339)
	}
	for _, p := range []property{{"slo", format.SLO(r.SLO)}, {"machine", r.Machine.String()}, {"record", r.Out}} {
		if p.Value != "" {
			s.Properties = append(s.Properties, p)
		}
	}
	if b := r.Badge(); r.Outcome.Status != "" && r.Outcome.Status != record.OutcomeComplete {
		s.Errors++
		s.Cases = append(s.Cases, testcase{Class: class, Name: "measurement", Error: &reason{Message: b.Text, Type: b.Word}})
	}
	if gate != nil {
		c := testcase{Class: class, Name: "gate " + gate.Gate, Output: r.Answer}
		if gate.Verdict != compare.Pass {
			s.Failures++
			c.Failure = &reason{Message: gate.Text, Type: gate.Verdict}
		}
		s.Cases = append(s.Cases, c)
	}
	for _, m := range metricsOf(r) {
		c := testcase{Class: class, Name: fmt.Sprintf("%s of %s against %s", format.Metrics[m.Metric], m.B, m.A), Output: format.Comparison(m, r.Turns != nil) + noise(m)}
		if m.Verdict == compare.NotDecided || m.Verdict == compare.Invalid {
			s.Skipped++
			c.Skipped = &reason{Message: m.Verdict}
		}
		s.Cases = append(s.Cases, c)
	}
	return s.write(w)
}

func (s suite) write(w io.Writer) error {
	s.Tests = len(s.Cases)
	if _, err := io.WriteString(w, xml.Header); err != nil {
		return err
	}
	enc := xml.NewEncoder(w)
	enc.Indent("", "  ")
	if err := enc.Encode(suites{Suite: s}); err != nil {
		return fmt.Errorf("encoding JUnit XML: %w", err)
	}
	_, err := io.WriteString(w, "\n")
	return err
}

// Case is a test of a suite that has no Report. At most one of Failure, Error and Skipped is given.
type Case struct {
	Class, Name             string
	Failure, Error, Skipped string // why it did not pass
	Output                  string
}

// Suite writes tests as a JUnit file.
func Suite(w io.Writer, name string, began time.Time, cases []Case) error {
	s := suite{Name: name, Timestamp: began.UTC().Format(time.RFC3339)}
	for _, c := range cases {
		t := testcase{Class: c.Class, Name: c.Name, Output: c.Output}
		switch {
		case c.Failure != "":
			s.Failures++
			t.Failure = &reason{Message: c.Failure}
		case c.Error != "":
			s.Errors++
			t.Error = &reason{Message: c.Error}
		case c.Skipped != "":
			s.Skipped++
			t.Skipped = &reason{Message: c.Skipped}
		}
		s.Cases = append(s.Cases, t)
	}
	return s.write(w)
}

// noise is the noise floor of a comparison in a sentence; empty: there is none.
func noise(m compare.Comparison) string {
	if m.Noise == "" {
		return ""
	}
	return " Here " + m.Noise + "."
}

// metricsOf are the comparisons of a report, the requested one first.
func metricsOf(r *report.Report) []compare.Comparison {
	if len(r.Metrics) == 0 && r.Comparison != nil {
		return []compare.Comparison{*r.Comparison}
	}
	return r.Metrics
}
