package quicktest

import (
	"flag"
	"testing"
)

var checks = flag.Int("rapid.checks", 100, "stands for rapid's")

func TestQuickUnlessAllIsAskedFor(t *testing.T) {
	for value, want := range map[string]bool{"": true, "some": true, All: testing.Short()} {
		t.Setenv(Variable, value)
		if On() != want || (Of(1, 2) == 1) != want {
			t.Errorf("%s=%q: On() = %v, Of(1, 2) = %d", Variable, value, On(), Of(1, 2))
		}
		ran := false
		t.Run("skips", func(t *testing.T) {
			Skip(t, "stands for a long test")
			ran = true
		})
		if ran == want {
			t.Errorf("%s=%q: ran %v", Variable, value, ran)
		}
	}
}

func TestChecks(t *testing.T) {
	for _, c := range []struct {
		all           string
		checks, quick int
		want          int
	}{{"", 100, 7, 7}, {"", 100, 200, 100}, {All, 100, 7, 100}, {"", 1000, 7, 1000}} { // the last is from the command line
		t.Setenv(Variable, c.all)
		*checks = c.checks
		if All == c.all && testing.Short() {
			continue
		}
		t.Run("", func(t *testing.T) {
			Checks(t, c.quick)
			if *checks != c.want {
				t.Errorf("%+v: %d checks", c, *checks)
			}
		})
		if *checks != c.checks {
			t.Errorf("%+v: %d checks after the test", c, *checks)
		}
	}
}
