package record

import (
	"testing"
	"time"
)

func TestSliceFigures(t *testing.T) {
	s := Slice{Kind: SliceWork, Role: RoleMeasure, Length: time.Second, Offered: 200, Served: 190, Failed: 6, Unfinished: 4, TargetCPU: 0.19}
	if s.PerS() != 190 || s.CPUMicros() != 1000 || s.ErrorShare() != 0.05 {
		t.Errorf("%g/s, %g us, errors %g", s.PerS(), s.CPUMicros(), s.ErrorShare())
	}
	e := &Experiment{Slices: []Slice{s, {Kind: SliceSLO, Role: RoleControl}, {Kind: SliceSLO, Role: RoleMeasure}}}
	if only := e.SlicesOf(SliceSLO, func(s *Slice) bool { return s.Role == RoleControl }); len(only) != 1 {
		t.Errorf("%d SLO slices of the control", len(only))
	}
}

func TestEnded(t *testing.T) {
	for name, c := range map[string]struct {
		e    Experiment
		want string
	}{
		"recorded":               {Experiment{Outcome: &Outcome{Status: OutcomeFailed, Reason: "x"}}, OutcomeFailed},
		"in progress, or killed": {Experiment{InProgress: &InProgress{}}, OutcomeInterrupted},
		"nothing":                {Experiment{}, OutcomeInterrupted},
	} {
		if got := c.e.Ended(); got.Status != c.want || got.Status != OutcomeComplete && got.Reason == "" {
			t.Errorf("%s: %+v, want %s with a reason", name, got, c.want)
		}
	}
}
