package main

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"time"

	"dyno/cmd/dyno/usage"
	"dyno/lab/compare"
	"dyno/lab/record"
	"dyno/lab/report"
	"dyno/lab/report/ci"
	"dyno/lab/report/history"
	"dyno/lab/report/text"
	"dyno/lab/revision"

	"github.com/spf13/pflag"
)

// errMissed is returned by checkGate if the gate did not pass. checkGate has printed the reason.
var errMissed = errors.New("the gate was missed")

// checkGate applies a gate to a report's comparison and prints the outcome. Without a gate it
// returns a nil outcome.
func checkGate(w io.Writer, r *report.Report, gate *compare.Gate) (*compare.Outcome, error) {
	switch {
	case r.Comparison == nil:
		return nil, errors.New("the experiment contains no comparison")
	case gate == nil:
		return nil, nil
	}
	outcome := gate.Check(*r.Comparison)
	fmt.Fprintln(w, outcome.Text)
	if outcome.Verdict != compare.Pass {
		return &outcome, errMissed
	}
	return &outcome, nil
}

// verdictFiles are the flags that name files for a comparison's result.
type verdictFiles struct {
	junit, benchstat, markdown, history string
}

// Register adds the flags to a command's flags.
func (f *verdictFiles) Register(flags *pflag.FlagSet) {
	flags.StringVar(&f.junit, "junit", "", "file for the result as JUnit XML")
	flags.StringVar(&f.benchstat, "benchstat", "", "file for the samples as lines of Go benchmarks, for benchstat -col /side")
	flags.StringVar(&f.markdown, "markdown", "", "file for the gate's verdict and the report in Markdown")
	flags.StringVar(&f.history, "history", "", "folder to which to append the result, for dyno history")
}

// Check returns an error if a file could not be written. It is called before anything is
// measured.
func (f *verdictFiles) Check() error {
	for _, file := range []string{f.junit, f.benchstat, f.markdown} {
		if file == "" {
			continue
		}
		if info, err := os.Stat(filepath.Dir(file)); err != nil || !info.IsDir() {
			return usage.Errorf("%s cannot be written: there is no folder %s", file, filepath.Dir(file))
		}
	}
	return nil
}

// verdict is what the files contain.
type verdict struct {
	Experiment *record.Experiment // nil: nothing was measured
	Report     *report.Report
	Gate       *compare.Outcome // nil: there is no gate
	// Sides are the revisions that were compared; nil: the sides are not revisions.
	Sides *[2]revision.Revision
}

// Write writes the files that the flags name.
func (f *verdictFiles) Write(r verdict) error {
	return errors.Join(
		write(f.junit, func(w io.Writer) error { return ci.JUnit(w, r.Report, r.Gate) }),
		write(f.benchstat, func(w io.Writer) error {
			if r.Experiment == nil {
				return nil // without samples the file is empty
			}
			return ci.Benchmarks(w, r.Experiment)
		}),
		write(f.markdown, r.markdown),
		f.append(r),
	)
}

// write writes a file as a whole; without a name it does nothing.
func write(file string, content func(io.Writer) error) error {
	if file == "" {
		return nil
	}
	var b bytes.Buffer
	if err := content(&b); err != nil {
		return fmt.Errorf("writing %s: %w", file, err)
	}
	return os.WriteFile(file, b.Bytes(), 0o644)
}

func (r verdict) markdown(w io.Writer) error {
	if r.Gate != nil {
		if err := ci.Gate(w, r.Gate); err != nil {
			return err
		}
	}
	if r.Experiment == nil {
		_, err := fmt.Fprintln(w, r.Report.Answer)
		return err
	}
	return text.Markdown(w, r.Report)
}

// append appends the result to the history, unless the experiment has no result.
func (f *verdictFiles) append(r verdict) error {
	c := r.Report.Comparison
	if f.history == "" || c == nil || !r.Report.Complete() {
		return nil
	}
	before, after := history.Commit{Title: c.A}, history.Commit{Title: c.B}
	if r.Sides != nil {
		before, after = commit(r.Sides[0]), commit(r.Sides[1])
	}
	entry := history.Of(r.Report, after, before, r.Gate)
	if entry.Same = r.Experiment == nil; entry.Same {
		entry.Measured = time.Now().UTC()
	}
	if err := history.Append(f.history, entry); err != nil {
		return fmt.Errorf("appending to the history: %w", err)
	}
	return nil
}

func commit(r revision.Revision) history.Commit {
	return history.Commit{Hash: r.Hash, Title: r.Title(), Subject: r.Subject, Time: r.Time}
}
