package generator

import (
	"strings"
	"testing"

	"dyno/lab/experiment/environment"
)

func TestLines(t *testing.T) {
	s := new(environment.Programs).Running("h")
	for _, c := range []struct {
		template string
		repeat   int
		want     string
	}{
		{"${id} at ${target.url}", 0, "${id} at h"},
		{`{"id":"${id}-${n}"}`, 1, "{\"id\":\"${id}-0\"}\n"},
		{"${n}$${key}", 3, "0$${key}\n1$${key}\n2$${key}\n"}, // the load's template reads the escape
	} {
		if got, err := lines(s, c.template, c.repeat); err != nil || got != c.want {
			t.Errorf("%q, %d times: %q, %v; want %q", c.template, c.repeat, got, err, c.want)
		}
	}
	if _, err := lines(s, strings.Repeat("x", 1000), 100_000); err == nil || !strings.Contains(err.Error(), "lower repeat") {
		t.Errorf("a body of 100 MB: %v", err)
	}
	if _, err := lines(s, "${what}", 2); err == nil {
		t.Error("what is not known was written")
	}
}
