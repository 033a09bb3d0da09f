package text

import (
	"slices"
	"testing"
)

func TestWrapped(t *testing.T) {
	for _, c := range []struct {
		text  string
		width int
		want  []string
	}{
		{"bound: a lock bounds it", 0, []string{"bound: a lock bounds it"}},
		{"bound: a lock bounds it: 71% of requests", 22, []string{"bound: a lock bounds ", "it: 71% of requests"}},
		{"a github.com/prometheus/client_golang/prometheus.(*Registry).Gather b", 20,
			[]string{"a ", "github.com/prometheus/client_golang/prometheus.(*Registry).Gather ", "b"}},
		{"", 80, []string{""}},
	} {
		if got := Wrapped(c.text, c.width); !slices.Equal(got, c.want) {
			t.Errorf("%q at %d: %q, want %q", c.text, c.width, got, c.want)
		}
	}
}
