package quicktest

import (
	"flag"
	"testing"
)

var checks = flag.Int("rapid.checks", 100, "stands for rapid's")

func TestQuickUnlessAllIsAskedFor(t *testing.T) {
	for value, all := range map[string]bool{"": false, "some": false, Everything: true} {
		t.Setenv(Variable, value)
		whole := all && !testing.Short()
		if All() != all || On() == whole || (Of(1, 2) == 2) != all {
			t.Errorf("%s=%q: All() = %v, On() = %v, Of(1, 2) = %d", Variable, value, All(), On(), Of(1, 2))
		}
		ran := false
		t.Run("skips", func(t *testing.T) {
			Skip(t, "stands for a long test")
			ran = true
		})
		if ran != whole {
			t.Errorf("%s=%q: ran %v", Variable, value, ran)
		}
	}
}

func TestChecks(t *testing.T) {
	for _, c := range []struct {
		all                       string
		checks, quick, most, want int
	}{{"", 100, 7, 0, 7}, {"", 100, 200, 0, 100}, {Everything, 100, 7, 0, 100}, {"", 1000, 7, 0, 1000}, // the last is from the command line
		{"", 100, 7, 20, 7}, {Everything, 100, 7, 20, 20}, {Everything, 1000, 7, 20, 1000}} {
		t.Setenv(Variable, c.all)
		*checks = c.checks
		t.Run("", func(t *testing.T) {
			ChecksOf(t, c.quick, c.most)
			if *checks != c.want {
				t.Errorf("%+v: %d checks", c, *checks)
			}
		})
		if *checks != c.checks {
			t.Errorf("%+v: %d checks after the test", c, *checks)
		}
	}
}
