package generator

import (
	"slices"
	"strings"
	"testing"

	"dyno/lab/experiment/environment"
)

func TestCopies(t *testing.T) {
	s := new(environment.Programs).Running("h")
	for _, c := range []struct {
		template string
		repeat   int
		want     []string
	}{
		{`{"id":"${id}-${n}"}`, 1, []string{`{"id":"${id}-0"}`}},
		{"${n}$${key}", 3, []string{"0$${key}", "1$${key}", "2$${key}"}}, // the load's template reads the escape
		{"${id} at ${target.url}", 1, []string{"${id} at h"}},
	} {
		if got, err := copies(s, c.template, c.repeat); err != nil || !slices.Equal(got, c.want) {
			t.Errorf("%q, %d times: %q, %v; want %q", c.template, c.repeat, got, err, c.want)
		}
	}
	if _, err := copies(s, strings.Repeat("x", 1000), 100_000); err == nil || !strings.Contains(err.Error(), "lower repeat") {
		t.Errorf("a body of 100 MB: %v", err)
	}
	if _, err := copies(s, "${what}", 2); err == nil {
		t.Error("what is not known was written")
	}
}

// Saved values, placeholders of the load and each $$ are left to the load's own template.
func TestTextsKeepWhatTheLoadFillsIn(t *testing.T) {
	x := expander{environment: new(environment.Programs).Running("h"), later: []string{"token"}}
	const text = "${target.url} ${token} ${id} $$${token} $${token} $5"
	if got := x.text("body", text); x.err != nil || got != strings.Replace(text, "${target.url}", "h", 1) {
		t.Errorf("%q, %v", got, x.err)
	}
	if x.text("body", "${other}"); x.err == nil || !strings.Contains(x.err.Error(), "unknown placeholder ${other}") {
		t.Error(x.err)
	}
}
