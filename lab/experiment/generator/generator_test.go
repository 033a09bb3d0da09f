package generator

import (
	"strings"
	"testing"

	"dyno/lab/experiment/environment"
)

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
