package report_test

import (
	"strings"
	"testing"

	"dyno/lab/record"
	"dyno/lab/report/reporttest"
)

// TestUnderWay: an experiment that goes on, or whose lab was killed, is not complete.
func TestUnderWay(t *testing.T) {
	m := reporttest.Turns(record.KindLadder)
	m.Outcome, m.InProgress = nil, &record.InProgress{PID: 1}
	if r := m.Report(); r.Outcome.Status != record.OutcomeInterrupted || r.Invalid != "" || !strings.Contains(r.Answer, "13,900/s") {
		t.Errorf("%+v: %s", r.Outcome, r.Answer)
	}
}

// TestOldFolders: a folder of format 1 holds no outcome, but a warning, or runs none of which
// count.
func TestOldFolders(t *testing.T) {
	m := reporttest.Ladder()
	m.Warnings = append(m.Warnings, "the experiment ended before it was done: other processes took 44% of the machine")
	if o := m.Report().Outcome; o != (record.Outcome{Status: record.OutcomeInterrupted, Reason: "other processes took 44% of the machine"}) {
		t.Errorf("with the warning: %+v", o)
	}
	if o := reporttest.InvalidLadder().Outcome; o.Status != record.OutcomeInvalid {
		t.Errorf("without a run that counts: %+v", o)
	}
	if o := reporttest.Ladder().Report().Outcome; o.Status != record.OutcomeComplete {
		t.Errorf("as it is: %+v", o)
	}
}
