package refusal

import (
	"strings"
	"testing"

	"pgregory.net/rapid"
)

func TestNearest(t *testing.T) {
	flags := []string{"from", "to", "server", "level", "anchor", "drain-timeout"}
	names := append(flags, "baseline", "ring", "workers", "tuned")
	for name, want := range map[string]string{
		"form":                      "from", // swapped
		"fro":                       "from", // left out
		"froom":                     "from", // twice
		"fron":                      "from", // replaced
		"drain_timeuot":             "drain-timeout",
		"sever":                     "server",
		"t":                         "to",
		"":                          "",
		"signatures":                "",
		"tunde":                     "tuned",
		"ringing":                   "",
		"mrof":                      "",
		strings.Repeat("from", 1e6): "",
	} {
		if got := Nearest(name, names); got != want {
			t.Errorf("nearest to %.20q is %q, want %q", name, got, want)
		}
	}
}

// A slip costs one whichever way it went, and nothing is further away than writing it anew.
func TestDistance(t *testing.T) {
	word := rapid.StringMatching("[abc]{0,8}")
	rapid.Check(t, func(t *rapid.T) {
		a, b := word.Draw(t, "a"), word.Draw(t, "b")
		d := distance(a, b)
		if d != distance(b, a) || (d == 0) != (a == b) || d > max(len(a), len(b)) || d < max(len(a)-len(b), len(b)-len(a)) {
			t.Fatalf("%q to %q is %d, and back %d", a, b, d, distance(b, a))
		}
		if len(a) < 2 {
			return
		}
		i := rapid.IntRange(0, len(a)-2).Draw(t, "i")
		for _, slip := range []string{a[:i] + a[i+1:], a[:i] + "x" + a[i:], a[:i] + "x" + a[i+1:], a[:i] + a[i+1:i+2] + a[i:i+1] + a[i+2:]} {
			if d := distance(a, slip); d > 1 || d == 0 && a != slip {
				t.Fatalf("%q to %q is %d", a, slip, d)
			}
		}
	})
}

func TestUnknown(t *testing.T) {
	for name, want := range map[string]string{
		"rng":  `unknown queue "rng"; did you mean "ring"? there are channel, ring`,
		"tree": `unknown queue "tree"; there are channel, ring`,
	} {
		if _, err := Pick("queue", map[string]int{"ring": 1, "channel": 2}, name); err == nil || err.Error() != want {
			t.Errorf("%v, want %s", err, want)
		}
	}
	if n, err := Pick("queue", map[string]int{"ring": 1}, "ring"); n != 1 || err != nil {
		t.Errorf("%d, %v", n, err)
	}
}
