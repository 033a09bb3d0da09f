package record

import (
	"os"
	"path/filepath"
	"testing"
	"time"
)

// Slices read back as they were written; a half-written line, left by a killed lab, is skipped.
func TestSlicesOnDisk(t *testing.T) {
	e := &Experiment{Name: "x", Kind: KindCompare}
	if err := NewExperiment(filepath.Join(t.TempDir(), "out"), e); err != nil {
		t.Fatal(err)
	}
	work := Slice{Kind: SliceWork, Role: RoleMeasure, Variant: "a", Generation: 1, Block: 2, Length: time.Second, Offered: 200, Served: 190, Failed: 6, Unfinished: 4, TargetCPU: 0.19, Allocs: -1, AllocBytes: -1}
	vote := Slice{Kind: SliceSLO, Role: RoleFloor, Variant: "a", Rate: 100, Met: true, Latency: Quantiles{P99: 3}}
	for _, s := range []Slice{work, vote} {
		if err := e.AddSlice(s); err != nil {
			t.Fatal(err)
		}
	}
	f, err := os.OpenFile(filepath.Join(e.Dir, SlicesFile), os.O_APPEND|os.O_WRONLY, 0)
	if err != nil {
		t.Fatal(err)
	}
	f.WriteString(`{"kind":"wor`)
	f.Close()
	again, err := Open(e.Dir)
	if err != nil {
		t.Fatal(err)
	}
	if len(again.Slices) != 2 || again.Slices[0].Served != 190 || again.Slices[1].Latency.P99 != 3 || !again.Slices[1].Met {
		t.Fatalf("%+v", again.Slices)
	}
	s := &again.Slices[0]
	if s.PerS() != 190 || s.CPUMicros() != 1000 || s.ErrorShare() != 0.05 {
		t.Errorf("%g/s, %g us, errors %g", s.PerS(), s.CPUMicros(), s.ErrorShare())
	}
	if only := again.SlicesOf(SliceSLO, func(s *Slice) bool { return s.Role == RoleFloor }); len(only) != 1 {
		t.Errorf("%d SLO slices of the twin", len(only))
	}
	os.WriteFile(filepath.Join(e.Dir, SlicesFile), []byte("{\"kind\":1}\n"), 0o644)
	if _, err := Open(e.Dir); err == nil {
		t.Error("a line that is no slice was read")
	}
}

func TestEnded(t *testing.T) {
	for name, c := range map[string]struct {
		e    Experiment
		want string
	}{
		"recorded":               {Experiment{Outcome: &Outcome{Status: OutcomeFailed, Reason: "x"}}, OutcomeFailed},
		"in progress, or killed": {Experiment{InProgress: &InProgress{}}, OutcomeInterrupted},
		"version 1, one counts":  {Experiment{Runs: []*Run{{Invalid: "x"}, {}}}, OutcomeComplete},
		"version 1, none counts": {Experiment{Runs: []*Run{{Invalid: "the generator"}}}, OutcomeInvalid},
		"nothing":                {Experiment{}, OutcomeInvalid},
	} {
		if got := c.e.Ended(); got.Status != c.want || got.Status != OutcomeComplete && got.Reason == "" {
			t.Errorf("%s: %+v, want %s with a reason", name, got, c.want)
		}
	}
}
