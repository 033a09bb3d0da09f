package runs

import (
	"strings"
	"testing"

	"dyno/lab/record"
)

func TestSpeedWarning(t *testing.T) {
	runs := func(speeds ...float64) (out []*record.Run) {
		for _, s := range speeds {
			out = append(out, &record.Run{System: record.System{Speed: s}})
		}
		return out
	}
	for _, tt := range []struct {
		name   string
		runs   []*record.Run
		warned bool
	}{
		{"steady", runs(400, 401, 399, 402, 400, 398), false},
		{"slowed down", runs(400, 401, 300, 302, 299, 400), true},
		{"one hiccup in many", runs(400, 400, 400, 400, 400, 200, 400, 400, 400, 400, 400, 400), false},
		{"too few to say", runs(400, 200), false},
		{"recorded before speeds were", runs(0, 0, 0, 0, 0, 0), false},
	} {
		if got := SpeedWarning(tt.runs); strings.Contains(got, "not quiet") != tt.warned {
			t.Errorf("%s: %q", tt.name, got)
		}
	}
	if machineSpeed() <= 0 {
		t.Error("the machine has no speed")
	}
}
