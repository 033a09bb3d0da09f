package report

import (
	"bytes"
	"encoding/json"
	"strings"
	"testing"

	"dyno/lab/capacity"
	"dyno/lab/record"
)

// said is what every form of a report says.
func said(t *testing.T, r *Report) map[string]string {
	t.Helper()
	out := map[string]string{}
	var page bytes.Buffer
	if err := HTML(&page, r); err != nil {
		t.Fatal(err)
	}
	out["page"] = page.String()[:strings.Index(page.String(), "<nav")]
	out["page"] = out["page"][strings.Index(out["page"], "<header"):]
	for ending, write := range renderers {
		var b bytes.Buffer
		if err := write(&b, r); err != nil {
			t.Fatal(err)
		}
		out[ending] = b.String()
	}
	return out
}

// TestOneOutcome holds that every form of a report says of an experiment's end what the record says.
func TestOneOutcome(t *testing.T) {
	const reason = "the load generator was the limit in 31 of 40 slices"
	for _, status := range []string{record.OutcomeComplete, record.OutcomeInterrupted, record.OutcomeFailed, record.OutcomeInvalid} {
		m := endedEarly(status, reason)
		if status == record.OutcomeComplete {
			m.Outcome.Reason = ""
		}
		r := m.report()
		if r.Outcome != *m.Outcome {
			t.Errorf("%s: the report's outcome is %+v", status, r.Outcome)
		}
		for form, text := range said(t, r) {
			lower := strings.ToLower(text)
			if status != record.OutcomeComplete && strings.Count(text, reason) < 1 {
				t.Errorf("%s, %s: the reason is not said", status, form)
			}
			if form != ".json" && status != record.OutcomeComplete && strings.Count(text, reason) > 1 {
				t.Errorf("%s, %s: the reason is said %d times", status, form, strings.Count(text, reason))
			}
			if status != record.OutcomeComplete && !strings.Contains(lower, status) {
				t.Errorf("%s, %s: the status is not said in\n%s", status, form, text)
			}
			if form != ".json" && strings.Contains(lower, "valid: ") && status != record.OutcomeInvalid || strings.Contains(text, ">Valid<") {
				t.Errorf("%s, %s: called valid in\n%s", status, form, text)
			}
			if measured := strings.Contains(text, "group carries 13,900/s"); measured == (status == record.OutcomeInvalid) && form != ".json" {
				t.Errorf("%s, %s: what was measured is shown: %v", status, form, measured)
			}
		}
		var b bytes.Buffer
		if err := JSON(&b, r); err != nil {
			t.Fatal(err)
		}
		var got struct {
			Valid   bool
			Reason  string
			Outcome record.Outcome
		}
		if err := json.Unmarshal(b.Bytes(), &got); err != nil {
			t.Fatal(err)
		}
		if got.Valid != (status == record.OutcomeComplete) || got.Reason != m.Outcome.Reason || got.Outcome != *m.Outcome {
			t.Errorf("%s: JSON says %+v", status, got)
		}
	}
}

// TestUnderWay: an experiment that goes on, or whose lab was killed, is not complete.
func TestUnderWay(t *testing.T) {
	m := madeTurns(record.KindLadder)
	m.Outcome, m.InProgress = nil, &record.InProgress{PID: 1}
	if r := m.report(); r.Outcome.Status != record.OutcomeInterrupted || r.Invalid != "" || !strings.Contains(r.Answer, "13,900/s") {
		t.Errorf("%+v: %s", r.Outcome, r.Answer)
	}
}

// TestOldFolders: a folder of format 1 holds no outcome, but a warning, or runs none of which count.
func TestOldFolders(t *testing.T) {
	m := madeLadder()
	m.Warnings = append(m.Warnings, "the experiment ended before it was done: other processes took 44% of the machine")
	if o := m.report().Outcome; o != (record.Outcome{Status: record.OutcomeInterrupted, Reason: "other processes took 44% of the machine"}) {
		t.Errorf("with the warning: %+v", o)
	}
	if o := invalidLadder().Outcome; o.Status != record.OutcomeInvalid {
		t.Errorf("without a run that counts: %+v", o)
	}
	if o := madeLadder().report().Outcome; o.Status != record.OutcomeComplete {
		t.Errorf("as it is: %+v", o)
	}
}

// TestTooShortIsNotMissed: a run of too few completions shows neither that the SLO was met nor that it was missed.
func TestTooShortIsNotMissed(t *testing.T) {
	for _, v := range []capacity.Verdict{
		{TooShort: true, Unjudged: "not judged: 604 of the 2000 completions that a verdict needs"},
		{TooShort: true, Unjudged: "604 of the 2000 completions that a verdict needs"},
	} {
		m := madeLoad("open")
		a := m.analysis()
		a.verdicts[m.Runs[0].ID] = v
		for form, text := range said(t, build(m.Experiment, a)) {
			if strings.Contains(text, "missed") || !strings.Contains(text, "604 of the 2000") && form != ".md" && form != ".json" {
				t.Errorf("%s: %s", form, text)
			}
			if form == ".json" && !strings.Contains(text, `"slo_met": null`) {
				t.Errorf("%s: %s", form, text)
			}
		}
	}
}

// TestWidthOfTurns: the table of a ladder by turns fits a terminal of 100 columns.
func TestWidthOfTurns(t *testing.T) {
	var b bytes.Buffer
	if err := Terminal(&b, madeTurns(record.KindLadder).report(), Style{}); err != nil {
		t.Fatal(err)
	}
	table := strings.Split(strings.Split(b.String(), "\n\n")[1], "\n")
	if len(table) != 8 {
		t.Fatalf("%d lines", len(table))
	}
	for _, line := range table {
		if len(line) > 100 {
			t.Errorf("%d columns: %s", len(line), line)
		}
	}
}
