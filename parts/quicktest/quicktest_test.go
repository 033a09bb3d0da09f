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
		all, rapid string
		want       int
	}{{"", "", 7}, {All, "", 100}, {"", "50", 100}} {
		t.Setenv(Variable, c.all)
		t.Setenv("RAPID_CHECKS", c.rapid)
		*checks = 100
		Checks(7)
		if *checks != c.want {
			t.Errorf("%+v: %d checks", c, *checks)
		}
	}
}
