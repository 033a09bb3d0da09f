package report_test

import (
	"reflect"
	"testing"

	"dyno/lab/record"
	"dyno/lab/report"
)

// A result of turns alone knows the commit of what it measured, and names no folder.
func TestMade(t *testing.T) {
	build := func(programs ...record.Program) report.Made {
		e := &record.Experiment{Kind: record.KindCompare, Programs: programs, Command: []string{"dyno", "run", "--out", "/home/me/x", "--out=y", "a.yaml"}, Outcome: &record.Outcome{}}
		e.Slices = []record.Slice{{Others: 0.02, Steal: 0.04}}
		return report.Build(e).Made
	}
	one := record.Program{Package: "a/cmd/a", Commit: "c1"}
	made := build(one, record.Program{Package: "a/plain", Commit: "c1"})
	if made.Commit != "c1" || made.Modified || !reflect.DeepEqual(made.Packages, []string{"a/cmd/a", "a/plain"}) {
		t.Errorf("of one commit: %+v", made)
	}
	if want := []string{"dyno", "run", "a.yaml"}; !reflect.DeepEqual(made.Command, want) {
		t.Errorf("command %q, want %q", made.Command, want)
	}
	if made := build(one, record.Program{Package: "a/cmd/a", Commit: "c2"}, one); made.Commit != "c2" || made.Base != "c1" {
		t.Errorf("of two commits in turns: %+v", made)
	}
	if made := build(one, record.Program{Package: "a/cmd/a"}); made.Commit != "" || made.Base != "" {
		t.Errorf("of a commit and an unknown one: %+v", made)
	}
	built := report.Build(&record.Experiment{Kind: record.KindCompare, Programs: []record.Program{{Package: "a"}}, Revisions: []string{"c1", "c2"}, Outcome: &record.Outcome{}}).Made
	if built.Commit != "c2" || built.Base != "c1" || built.Modified {
		t.Errorf("of two revisions: %+v", built)
	}
	if float64(made.Others) != 0.02 || float64(made.Steal) != 0.04 {
		t.Errorf("others took %v, the hypervisor %v", made.Others, made.Steal)
	}
	if made := build(one, record.Program{Package: "a/cmd/a", Commit: "c2", Modified: true}); made.Commit != "c2" || made.Base != "c1" || !made.Modified {
		t.Errorf("of two commits, one modified: %+v", made)
	}
}
