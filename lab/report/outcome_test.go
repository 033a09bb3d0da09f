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
