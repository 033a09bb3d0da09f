package tuning

import (
	"strings"
	"testing"

	"dyno/lab/tune"
)

// The error for an unknown setting names the one that was probably meant.
func TestMeant(t *testing.T) {
	for name, want := range map[string]string{
		"gocg":       `no setting is called "gocg"; did you mean gogc? There are GOGC,`,
		"GOMEMLIMTI": "did you mean gomemlimit?",
		"Wrokers":    "did you mean workers?",
		"speed":      `no setting is called "speed"; there are GOGC,`,
	} {
		p := tune.Program{Declared: tune.Declared{Settings: []tune.Knob{{Name: "workers"}}}}
		_, _, err := p.Singles([]string{"gogc", name})
		if err == nil || !strings.Contains(meant(err).Error(), want) {
			t.Errorf("%s: %v, want %q", name, err, want)
		}
	}
}
